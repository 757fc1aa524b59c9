"""Extraction: ten fields of a product review, as one JSON object."""

import json
from collections.abc import Sequence
from typing import Final

from schemas.documents import Rollout
from tasks.commerce.commerce_task import CommerceTask, described
from tasks.commerce.extraction.scorer import CHECKS, REWARDS, WORDING, field_agreement
from tasks.commerce.faults import spoil_json
from tasks.commerce.reward import Reference
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.commerce.text.json_fields import CAUSE_FIELDS, sentiment_of
from tasks.commerce.text.parser import parse_object


def answer(reference: Reference) -> str:
    """Return the ten fields as compact JSON; unknown values follow from the rating."""
    rating = reference.get("rating") or 3
    known = {name: value for name, value in (reference.get("fields") or {}).items() if value is not None}
    complains = bool(known.get("delivery_issue"))
    content = rating >= 4
    plausible = {
        "sentiment": sentiment_of(rating),
        "sentiment_score": rating,
        "churn_risk": round(1 - rating / 5, 1),
        "delivery_issue": False,
        "product_issue": False,
        "seller_issue": False,
        "main_complaint": "atraso na entrega" if complains else "",
        "complaint_category": "delivery" if complains else "none",
        "repeat_intent": content,
        "would_recommend": content,
    }
    fields = {name: known.get(name, plausible[name]) for name in CAUSE_FIELDS}
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def metric(rollouts: Sequence[Rollout], databases: Databases | None) -> dict[str, float]:  # noqa: ARG001 - every task's signature
    """Return the micro-F1 over (field, value): the known fields except the free text, a risk by its tenth.

    A field of the answer that the reference does not know is neither right nor wrong.
    """
    right = given = known = 0
    for rollout in rollouts:
        wanted = {
            name: value
            for name, value in ((rollout.reference or {}).get("fields") or {}).items()
            if name in CHECKS and value is not None
        }
        fields = parse_object(rollout.completion).value or {}
        known += len(wanted)
        given += sum(fields.get(name) is not None for name in wanted)
        right += sum(
            CHECKS[name](fields.get(name))
            and (fields[name] == value or field_agreement(name, fields[name], value) == 1.0)
            for name, value in wanted.items()
        )
    return {"field_f1": 2 * right / (given + known)} if known else {}


TASK: Final = CommerceTask(
    name="extraction",
    description=described(__doc__),
    system=WORDING.system,
    answer=answer,
    rewards=REWARDS,
    metric=metric,
    answer_metrics=("field_f1",),
    content=frozenset({"values"}),
    faults=spoil_json,
    answers_in_json=True,
    asked_by_reference=False,
    prompt_is_unread=False,
)
