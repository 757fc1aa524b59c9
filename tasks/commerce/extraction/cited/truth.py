"""Ground truth of extraction with a copied complaint, from the reference and the review, by code that no reward shares.

The answer is what `json.loads` makes of the whole completion, or of one code fence around it: a word makes it none.
Unseen: fields that the reference does not know, and which words complain where nobody knows it.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from schemas.documents import Rollout
from schemas.references import ExtractionFields
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.commerce.truth_text import fold, number_of, read_object, share_of, words

COMPLAINT: Final = "main_complaint"
MOST_WORDS: Final = 12
_QUOTED: Final = re.compile(r"(?ms)^Avaliação: *(.*)")


def metric(rollouts: Sequence[Rollout], databases: Databases | None) -> dict[str, float]:  # noqa: ARG001 - every task's signature
    """Return what is right of the fields that the reference knows.

    - `field_f1`: micro-F1 over (field, value) of the fields but the complaint, each of its JSON type, a risk by its
      tenth. A field of the answer that the reference does not know is neither right nor wrong. Where nine of ten
      reviews praise, the constant of praise earns a good deal of it.
    - `complaint`: share of the known complaints that are named: a run of at most twelve words of the review, half of
      which at least are of those that complain, or half of these; or nothing where nothing is complained of.
    - `exact`: share of the answers in which every known field is right, the complaint too, and no field is there that
      nobody asked for. The strictest.
    """
    right = given = known = 0
    complaints: list[bool] = []
    exact: list[bool] = []
    for rollout in rollouts:
        reference = rollout.reference or {}
        wanted = {name: value for name, value in (reference.get("fields") or {}).items() if value is not None}
        if not wanted:
            continue
        found = read_object(rollout.completion) or {}
        valued = wanted.keys() - {COMPLAINT}
        agree = [_is_same(name, found.get(name), wanted[name]) for name in valued]
        known += len(valued)
        given += sum(found.get(name) is not None for name in valued)
        right += sum(agree)
        if COMPLAINT in wanted:
            agree.append(is_complaint(found.get(COMPLAINT), reference, rollout.prompt))
            complaints.append(agree[-1])
        exact.append(all(agree) and found.keys() <= ExtractionFields.model_fields.keys())
    rates = {"complaint": complaints, "exact": exact}
    f1 = {"field_f1": 2 * right / (given + known)} if known else {}
    return f1 | {name: sum(each) / len(each) for name, each in rates.items() if each}


def _is_same(name: str, found: object, wanted: object) -> bool:
    if name == "churn_risk":
        risk, true = share_of(found), number_of(wanted)
        return risk is not None and true is not None and round(10 * risk) == round(10 * true)
    return type(found) is type(wanted) and found == wanted


def is_complaint(found: object, reference: Mapping[str, Any], prompt: str) -> bool:
    """Return whether a complaint is copied from the review, and says what is known of it."""
    if not isinstance(found, str):
        return False
    wanted = (reference.get("fields") or {}).get(COMPLAINT)
    if not found or wanted == "":
        return not found and not wanted
    review, said = _QUOTED.search(prompt), words(fold(found))
    heard = words(fold(review[1])) if review else []
    starts = _starts(said, heard)
    told = words(fold(reference.get("complaint_words") or ""))
    complaining = _starts(told, heard)
    if not starts or len(found.split()) > MOST_WORDS or not complaining:
        return bool(starts) and len(found.split()) <= MOST_WORDS
    least = max(min(len(said), len(told)) / 2, min(len(told), 2))
    return any(
        min(start + len(said), known + len(told)) - max(start, known) >= least
        for start in starts
        for known in complaining
    )


def _starts(said: Sequence[str], heard: Sequence[str]) -> list[int]:
    """Return where a run of words stands in a text."""
    count = len(said)
    return [place for place in range(len(heard) - count + 1) if heard[place : place + count] == said] if said else []
