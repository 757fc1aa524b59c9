"""The nine fields beside the complaint: their checks, and which values contradict each other."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from tasks.commerce.text.json_fields import (
    is_boolean,
    is_sentiment,
    is_share,
    is_stars,
    read_share,
    sentiment_contradicts,
    sentiment_of,
)
from tasks.commerce.text.text_form import KEPT_PROMPTS, ramp

COMPLAINT: Final = "main_complaint"
CATEGORIES: Final = frozenset({"delivery", "product", "seller", "price", "other", "none"})
ISSUES: Final = ("delivery_issue", "product_issue", "seller_issue")
CHECKS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "sentiment": is_sentiment,
    "sentiment_score": is_stars,
    "churn_risk": is_share,
    "complaint_category": lambda value: isinstance(value, str) and value in CATEGORIES,
    **dict.fromkeys((*ISSUES, "repeat_intent", "would_recommend"), is_boolean),
}
"""The nine checks, by field."""
READABLE: Final[Mapping[str, Callable[[Any], bool]]] = {**CHECKS, COMPLAINT: lambda value: isinstance(value, str)}
RISK_TOLERANCE: Final = 0.05
"""Half of a reference's step: a risk within it counts as equal."""
CONTRADICTED: Final = 0.25
UNUSUAL: Final = 0.7
ONE_STAR_OFF: Final = 0.9
"""Agreement of stars that differ by one from a real review's: nobody reads exact stars in its words."""
NEXT_MOOD: Final = 0.75
"""Agreement of the mood beside a real review's that goes with such stars."""


class Clash(NamedTuple):
    """Two fields that cannot both be right, or seldom are."""

    first: str
    second: str
    kept: float
    """Share of the agreement that either keeps."""
    holds: Callable[[Any, Any], bool]
    """Whether two well-typed values contradict each other."""


def _of_issue(category: str) -> Callable[[bool, str], bool]:
    return lambda issue, named: named == "none" if issue else named == category


def _of_intention(sentiment: str, intends: bool) -> bool:
    return sentiment == ("negative" if intends else "positive")


def _of_risk(sentiment: str, risk: float) -> bool:
    share = read_share(risk) or 0.0
    return not 0.3 < share < 0.7 and sentiment == ("negative" if share <= 0.3 else "positive")


CONTRADICTIONS: Final = (
    Clash("sentiment", "sentiment_score", CONTRADICTED, sentiment_contradicts),
    *(
        Clash(f"{category}_issue", "complaint_category", CONTRADICTED, _of_issue(category))
        for category in ("delivery", "product", "seller")
    ),
    Clash(COMPLAINT, "complaint_category", UNUSUAL, lambda text, name: bool(text) == (name == "none")),
    Clash("sentiment", "repeat_intent", UNUSUAL, _of_intention),
    Clash("sentiment", "would_recommend", UNUSUAL, _of_intention),
    Clash("sentiment", "churn_risk", UNUSUAL, _of_risk),
)
_CONTRADICTING: Final = tuple(dict.fromkeys(name for rule in CONTRADICTIONS for name in (rule.first, rule.second)))


def agreements(readable: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, float]:
    """Return how far each known field but the complaint agrees, in [0, 1]: a risk and stars by their distance."""
    found = readable.get
    agree = {
        name: 1.0 if found(name) == value else _agreement(name, found(name), value)
        for name, value in wanted.items()
        if value is not None
    }
    agree.pop(COMPLAINT, None)
    return agree | _by_the_stars_alone(readable, wanted) if wanted.get("churn_risk") is None else agree


def _agreement(name: str, found: Any, wanted: Any) -> float:
    """Grade a field that differs from the reference's."""
    if found is None:
        return 0.0
    if name == "churn_risk":
        return ramp(abs((read_share(found) or 0.0) - wanted), 0.5, RISK_TOLERANCE)
    return ramp(abs(found - wanted), 2, 0) if name == "sentiment_score" else 0.0


def _by_the_stars_alone(readable: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, float]:
    """Return the agreements of mood and stars one star off, where all that is known of either is a rating."""
    stars, rating = readable.get("sentiment_score"), wanted.get("sentiment_score")
    if stars is None or rating is None or abs(stars - rating) != 1:
        return {}
    mood, true = readable.get("sentiment"), wanted.get("sentiment")
    beside = {mood, true} != {"positive", "negative"} and None not in (mood, true) and mood == sentiment_of(stars)
    return {"sentiment_score": ONE_STAR_OFF} | ({"sentiment": NEXT_MOOD} if beside and mood != true else {})


def kept_of_contradictions(
    readable: Mapping[str, Any], wanted: Mapping[str, Any], rating: int | None
) -> tuple[Mapping[str, float], float]:
    """Return what contradictions that the reference has not leave of some fields, and what they leave of all.

    A contradiction with a field that nobody knows costs of all of them: it might be either that is wrong.
    """
    kept: dict[str, float] = {}
    kept_of_all = 1.0
    broken = _contradictions(*map(readable.get, _CONTRADICTING))
    for rule in broken:
        if rule in _contradictions(*map(wanted.get, _CONTRADICTING)):
            continue
        if (wanted.get(rule.first) is None) != (wanted.get(rule.second) is None):
            kept_of_all *= max(rule.kept, UNUSUAL)
        for name in (rule.first, rule.second):
            kept[name] = min(kept.get(name, 1.0), rule.kept)
    if sentiment_contradicts(readable.get("sentiment"), rating) and not sentiment_contradicts(
        wanted.get("sentiment"), rating
    ):
        kept_of_all *= 0.5
    return kept, kept_of_all


@lru_cache(maxsize=KEPT_PROMPTS)
def _contradictions(*values: Any) -> tuple[Clash, ...]:
    """Return the rules that the values of `_CONTRADICTING` break."""
    found = dict(zip(_CONTRADICTING, values, strict=True)).get
    return tuple(
        rule
        for rule in CONTRADICTIONS
        if (one := found(rule.first)) is not None
        and (other := found(rule.second)) is not None
        and rule.holds(one, other)
    )
