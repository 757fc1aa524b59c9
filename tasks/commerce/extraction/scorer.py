"""Extraction that carries its evidence: ten fields of a review, whose complaint is copied from it.

`grounded`, components in [0, 1]:

- `json`: the form. 1 for a JSON object and nothing else, less for chatter, a fence, a repair (`parser.FORM`). Gamed by
  an object without meaning, so it counts in full only as far as `types` are right, and a quarter at least.
- `schema`: F1 of the field names against the ten. Gamed by an echo of the field names: counts like `json`.
- `types`: share of nine checks passed. Gamed by one fixed object for every review.
- `values`: the square of the mean agreement of the fields with the reference's known ones: exact for enumerations and
  booleans, by distance for numbers, for the complaint by the words of the review that it shares with those that are
  known to make it, and by how few others it has; squared, because the reader of a half-right object cannot know which
  half. A complaint that is no quotation of the review (`quotation`), or that nobody made, leaves a fifth of all values,
  another quotation up to all of them, a missing one 0.6. An issue that is none leaves 0.85; fields that contradict each
  other a quarter, 0.7 where people do feel both. Gamed by the likeliest values, and where nobody knows which words
  complain by any of the review.

The first three are paid in full only as far as the `values` are right, and a quarter at least. `schema`, `types` and
`values` are multiplied by the trust in a repaired object, and by 0.43 if text stands beside it (`parser`).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from tasks.commerce.extraction.fields import (
    CHECKS,
    COMPLAINT,
    ISSUES,
    READABLE,
    agreements,
    kept_of_contradictions,
)
from tasks.commerce.extraction.quotation import fault_of, review_of, shared
from tasks.commerce.reward import Reference, Reward, Score, fill_unknown
from tasks.commerce.text.parser import parse_object
from tasks.commerce.text.text_form import ramp

if TYPE_CHECKING:
    from tasks.commerce.sql_qa.sandbox import Databases

WEIGHTS: Final = {"json": 0.12, "schema": 0.08, "types": 0.15, "values": 0.65}
INVENTED: Final = 0.2
"""Share of the values that an answer keeps whose complaint is not the review's."""
HIDDEN: Final = 0.6
"""Share of the values that an answer without the review's complaint keeps."""
FALSE_ALARM: Final = 0.85
"""Share of the values that an answer keeps for each issue that it claims and that is none."""
ENOUGH: Final = 0.9
"""Shared part of two quotations from which on they are one: a word more or less of a dozen says nothing else."""
FORM_ALONE: Final = 0.25
"""Share of the form that an answer is paid for whose values are all wrong, or whose types are."""


def score(completion: str, prompt: str, reference: Reference | None, databases: "Databases | None") -> Score:  # noqa: ARG001 - every task's signature
    """Score the form of the object and its agreement with the known facts."""
    parsed = parse_object(completion)
    fields = parsed.value or {}
    alone = not parsed.needed and fields.keys() <= READABLE.keys()
    trust = float(parsed.value is not None) if alone else parsed.trust_alone(READABLE)
    check_of = READABLE.get
    readable = {name: value for name, value in fields.items() if (holds := check_of(name)) and holds(value)}
    types = (len(readable) - (COMPLAINT in readable)) / len(CHECKS)
    values = _values(readable, reference, review_of(prompt)) if reference else None
    paid = 1.0 if values is None else FORM_ALONE + (1 - FORM_ALONE) * values
    sense = (FORM_ALONE + (1 - FORM_ALONE) * types) * paid
    present = len(READABLE) if len(readable) == len(READABLE) else sum(map(fields.__contains__, READABLE))
    components: dict[str, Any] = {
        "json": parsed.cleanliness * sense,
        "schema": trust * sense * 2 * present / (len(READABLE) + len(fields)),
        "types": trust * types * paid,
        "values": None if values is None else trust * values,
    }
    return Score(fill_unknown(components, WEIGHTS) if values is None else components, parsed.value)


def _values(readable: Mapping[str, Any], reference: Reference, review: str) -> float | None:
    wanted = reference.get("fields") or {}
    found = agreements(readable, wanted)
    complaint = complaint_agreement(readable.get(COMPLAINT, ""), reference, review)
    if complaint is not None:
        found[COMPLAINT] = complaint if COMPLAINT in readable else 0.0
    if not found:
        return None
    kept, kept_of_all = kept_of_contradictions(readable, wanted, reference.get("rating"))
    for name in ISSUES:
        if readable.get(name) is True and wanted.get(name) is False:
            kept_of_all *= FALSE_ALARM
    if found.get(COMPLAINT, 1.0) < 1:
        named = bool(readable.get(COMPLAINT))
        kept_of_all *= INVENTED + (1 - INVENTED) * found[COMPLAINT] if named else HIDDEN
    total = sum([agreement * kept.get(name, 1.0) for name, agreement in found.items()] if kept else found.values())
    return float(kept_of_all * (total / len(found)) ** 2)


def complaint_agreement(complaint: str, reference: Reference, review: str) -> float | None:
    """Return how far a complaint is the reference's, in [0, 1]; None where a quotation is all that can be asked."""
    wanted = (reference.get("fields") or {}).get(COMPLAINT)
    if fault_of(complaint, review) is not None:
        return 0.0
    if wanted is None:
        return None
    if not wanted or not complaint:
        return float(not wanted and not complaint)
    told = reference.get("complaint_words")
    return ramp(shared(complaint, told, review), 0, ENOUGH) if told else 1.0


REWARD: Final = Reward(WEIGHTS, score)
