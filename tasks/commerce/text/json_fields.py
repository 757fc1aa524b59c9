"""Field checks of JSON answers, and the Brazilian notation of their numbers."""

import re
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, Final

SENTIMENTS: Final = ("negative", "neutral", "positive")
CAUSE_FIELDS: Final = (
    "sentiment",
    "sentiment_score",
    "churn_risk",
    "delivery_issue",
    "product_issue",
    "seller_issue",
    "main_complaint",
    "complaint_category",
    "repeat_intent",
    "would_recommend",
)

_WRITTEN: Final = re.compile(r"(?P<minus>-?)(?:R\$\s*)?(?P<digits>-?\d[\d.,]*)\s*(?P<percent>%?)")
# A group of three digits behind a dot is thousands, but after a zero it is decimals.
_THOUSANDS: Final = re.compile(r"-?[1-9]\d{0,2}(?:\.\d{3})+(?:,\d+)?", re.ASCII)
_PLAIN: Final = re.compile(r"-?\d+(?:[.,]\d+)?", re.ASCII)
MAX_WRITTEN: Final = 24  # Characters of a number; longer ones are no amounts, and a float would not hold them.
REPORT_WEIGHTS: Final[Mapping[str, float]] = {"json": 0.30, "schema": 0.30, "types": 0.40}


def read_number(value: object) -> float | None:
    """Parse a number field: a finite number, or text such as `4,5`, `R$ 1.234,56` and `80%` (0.8); no boolean."""
    if type(value) is float:
        return value if isfinite(value) else None
    if type(value) is int:
        return float(value) if abs(value) < 10**MAX_WRITTEN else None
    if not isinstance(value, str) or len(value) > MAX_WRITTEN:
        return None
    written = _WRITTEN.fullmatch(value.strip())
    if not written:
        return None
    digits = written["minus"] + written["digits"]
    if _THOUSANDS.fullmatch(digits):
        number = float(digits.replace(".", "").replace(",", "."))
    elif _PLAIN.fullmatch(digits):
        number = float(digits.replace(",", "."))
    else:
        return None
    return number / 100 if written["percent"] else number


def read_share(value: object) -> float | None:
    """Parse a number from 0 to 1."""
    number = read_number(value)
    return number if number is not None and 0 <= number <= 1 else None


def is_share(value: object) -> bool:
    """Return whether a value is a number from 0 to 1, in Portuguese notation too."""
    return read_share(value) is not None


def is_boolean(value: object) -> bool:
    """Return whether a value is a real JSON boolean; the base model echoed the field's name as a string."""
    return value is True or value is False


def is_stars(value: object) -> bool:
    """Return whether a value is an integer from 1 to 5; the base model wrote 0.2, and Python counts true as 1."""
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 5


def is_sentiment(value: object) -> bool:
    """Return whether a value is one of the three sentiments."""
    return isinstance(value, str) and value in SENTIMENTS


def sentiment_contradicts(sentiment: object, stars: int | None) -> bool:
    """Return whether praise stands beside one or two stars, or blame beside four or five."""
    return stars is not None and ((sentiment == "positive" and stars <= 2) or (sentiment == "negative" and stars >= 4))


def report_components(
    trust: float, fields: Mapping[str, Any], asked: Sequence[str], checks: Mapping[str, Callable[[Any], bool]]
) -> dict[str, float]:
    """Return the components of the V4.2 report's reward of a JSON answer, each in [0, 1]."""
    return {
        "json": trust,
        "schema": sum(name in fields for name in asked) / len(asked),
        "types": sum(check(fields.get(name)) for name, check in checks.items()) / len(checks),
    }


def sentiment_of(rating: int) -> str:
    """Return the sentiment of a rating of 1 to 5 stars."""
    return "positive" if rating >= 4 else "neutral" if rating == 3 else "negative"
