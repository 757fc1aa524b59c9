"""Sentiment: the polarity of a review and its score from 1 to 5, as one small JSON object.

`grounded`, components in [0, 1]:

- `json`: the form, as in extraction: 1 for the object alone, less with chatter, less again if it was repaired. Counts
  in full only as far as `types` are right, and a quarter at least. Gamed by a valid object without meaning.
- `types`: fields that pass their check, over the two requested ones and any extra ones. Gamed by one fixed object for
  every review.
- `polarity`: 1 for the reference's, 0.2 if only one of the two is neutral, 0 for the opposite. Gamed by the likeliest
  polarity.
- `score`: 1 for the reference's, 0.5 for one star off. Gamed by the middle of the scale.

If polarity and score contradict each other, such as praise with one star, both keep a quarter of their value, unless
the reference says the same: naming both ends is knowing neither. `json` and `types` are paid in full only as far as
these two are right, and a quarter at least. One fixed object earns 0.69 a review on 2,000 of a simulated store, where
seven in ten reviews are positive, and 0.55 on a real sample.

All but `json` keep 0.43 if text stands beside the object or in fields that nobody asked for (`parser.NOT_ALONE`).

`v4.2`: the V4.2 report has no reward of sentiment; this is its reward of extraction by analogy (`json` a readable
dict, `schema` fields present of two, `types` checks passed of two). It knows no right answer, nor the rating, which is
the question here. Gamed by one fixed object, which earns everything.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from tasks.commerce.reward import Reference, Reward, Score, fill_unknown
from tasks.commerce.text.json_fields import (
    REPORT_WEIGHTS,
    SENTIMENTS,
    is_sentiment,
    is_stars,
    report_components,
    sentiment_contradicts,
)
from tasks.commerce.text.parser import parse_object
from tasks.commerce.text.text_form import ramp

if TYPE_CHECKING:
    from schemas.tasks import SpecName

WEIGHTS: Final = {"json": 0.12, "types": 0.08, "polarity": 0.42, "score": 0.38}
CHECKS: Final[Mapping[str, Callable[[Any], bool]]] = {"polarity": is_sentiment, "score": is_stars}
CONTRADICTED: Final = 0.25
FORM_ALONE: Final = 0.25  # Share of the form that an answer is paid for of which nothing else is right.


def score(completion: str, _prompt: str, reference: Reference | None, _: object) -> Score:
    """Score the form of the object, the polarity and the stars."""
    parsed = parse_object(completion)
    fields = parsed.value or {}
    polarity, stars = fields.get("polarity"), fields.get("score")
    polarity = polarity if is_sentiment(polarity) else None
    stars = stars if is_stars(stars) else None
    types = ((polarity is not None) + (stars is not None)) / len(fields.keys() | CHECKS.keys())
    wanted = reference or {}
    true_polarity, true_stars = wanted.get("polarity"), wanted.get("score")
    contradicts = sentiment_contradicts(polarity, stars) and not sentiment_contradicts(true_polarity, true_stars)
    trust = parsed.trust_alone(CHECKS)
    kept = CONTRADICTED if contradicts else 1.0
    content = {
        "polarity": None if true_polarity is None else kept * _polarity_agreement(polarity, true_polarity),
        "score": None if true_stars is None else 0.0 if stars is None else kept * ramp(abs(stars - true_stars), 2, 0),
    }
    known = {name: value for name, value in content.items() if value is not None}
    right = sum(WEIGHTS[name] * value for name, value in known.items()) / (sum(map(WEIGHTS.__getitem__, known)) or 1)
    paid = FORM_ALONE + (1 - FORM_ALONE) * right if known else 1.0
    components = {
        "json": parsed.cleanliness * (0.25 + 0.75 * types) * paid,
        "types": trust * types * paid,
        **{name: None if value is None else trust * value for name, value in content.items()},
    }
    return Score(fill_unknown(components, WEIGHTS), parsed.value)


def _polarity_agreement(found: str | None, wanted: str) -> float:
    if found is None:
        return 0.0
    return (1.0, 0.2, 0.0)[abs(SENTIMENTS.index(found) - SENTIMENTS.index(wanted))]


def v42_score(completion: str, _prompt: str, _reference: Reference | None, _: object) -> Score:
    """Score a dict, its two fields and their types."""
    parsed = parse_object(completion)
    return Score(report_components(parsed.trust, parsed.value or {}, tuple(CHECKS), CHECKS), parsed.value)


REWARDS: Final[Mapping["SpecName", Reward]] = {
    "grounded": Reward(WEIGHTS, score),
    "v4.2": Reward(REPORT_WEIGHTS, v42_score),
}
