"""Delay: from the two dates of a delivery, the days that it came late, as one small JSON object.

`grounded`, components in [0, 1]:

- `json`: 1 for the object alone, less with chatter, less again if it was repaired; a quarter of it where `days` is no
  integer. Gamed by a valid object with any number.
- `days`: 1 for the reference's, 0 from three days off. Gamed by the likeliest number.

`v4.2`: the V4.2 report has no reward of it; this is its reward of extraction by analogy. Gamed by any integer.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from tasks.commerce.reward import Reference, Reward, Score, fill_unknown
from tasks.commerce.text.json_fields import REPORT_WEIGHTS, report_components
from tasks.commerce.text.parser import parse_object
from tasks.commerce.text.text_form import ramp

if TYPE_CHECKING:
    from schemas.tasks import SpecName

WEIGHTS: Final = {"json": 0.2, "days": 0.8}


def is_whole(value: Any) -> bool:
    """Return whether a value is an integer; JSON's booleans are none."""
    return isinstance(value, int) and not isinstance(value, bool)


CHECKS: Final[Mapping[str, Callable[[Any], bool]]] = {"days": is_whole}


def score(completion: str, _prompt: str, reference: Reference | None, _: object) -> Score:
    """Score the form of the object and the number of days."""
    parsed = parse_object(completion)
    trust = parsed.trust_alone(CHECKS)
    found, wanted = (parsed.value or {}).get("days"), (reference or {}).get("days")
    components = {
        "json": parsed.cleanliness * (1.0 if is_whole(found) else 0.25),
        "days": None if wanted is None else trust * (ramp(abs(found - wanted), 3, 0) if is_whole(found) else 0.0),
    }
    return Score(fill_unknown(components, WEIGHTS), parsed.value)


def v42_score(completion: str, _prompt: str, _reference: Reference | None, _: object) -> Score:
    """Score a dict, its field and its type."""
    parsed = parse_object(completion)
    return Score(report_components(parsed.trust, parsed.value or {}, tuple(CHECKS), CHECKS), parsed.value)


REWARDS: Final[Mapping["SpecName", Reward]] = {
    "grounded": Reward(WEIGHTS, score),
    "v4.2": Reward(REPORT_WEIGHTS, v42_score),
}
