"""Reward of the V4.2 report on extraction, continuous where a part can be; it knows no right answer.

- `json`, .30: trust in the object. Gamed by any object.
- `schema`, .30: share of the ten fields that are present. Gamed by one fixed object.
- `types`, .40: share of the nine checks passed. Gamed likewise.
- `mismatch`, -.20: the sentiment contradicts the rating, of the reference or else the prompt's `Nota:`.
"""

import re
from typing import TYPE_CHECKING, Final

from tasks.commerce.extraction.fields import CHECKS
from tasks.commerce.reward import Reference, Reward, Score
from tasks.commerce.text.json_fields import CAUSE_FIELDS, REPORT_WEIGHTS, report_components, sentiment_contradicts
from tasks.commerce.text.parser import parse_object

if TYPE_CHECKING:
    from tasks.commerce.sql_qa.sandbox import Databases

WEIGHTS: Final = {**REPORT_WEIGHTS, "mismatch": -0.20}
_RATING: Final = re.compile(r"^Nota: ([1-5])\b", re.MULTILINE | re.ASCII)


def score(completion: str, prompt: str, reference: Reference | None, databases: "Databases | None") -> Score:  # noqa: ARG001 - every task's signature
    """Score a dict, its fields, their types, and the rating's contradiction."""
    parsed = parse_object(completion)
    fields = parsed.value or {}
    components = report_components(parsed.trust, fields, CAUSE_FIELDS, CHECKS)
    rating = (reference or {}).get("rating") or _rating_in(prompt)
    components["mismatch"] = float(sentiment_contradicts(fields.get("sentiment"), rating))
    return Score(components, parsed.value)


def _rating_in(prompt: str) -> int | None:
    found = _RATING.search(prompt)
    return int(found[1]) if found else None


V42_REWARD: Final = Reward(WEIGHTS, score)
