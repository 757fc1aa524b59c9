"""Extraction: ten fields of a product review, as one JSON object."""

import json
from typing import Final

from tasks.commerce.commerce_task import CommerceTask, described
from tasks.commerce.extraction.complaint_signs import categories
from tasks.commerce.extraction.scorer import CATEGORIES, READABLE, REWARDS, WORDING
from tasks.commerce.extraction.truth import metric
from tasks.commerce.faults import spoil_json
from tasks.commerce.grammar import BOOLEAN, SHARE, STARS, Field, json_grammar, object_schema, one_of, text
from tasks.commerce.inputs import ReviewInputs
from tasks.commerce.reward import Reference
from tasks.commerce.served import serve_object
from tasks.commerce.text.json_fields import CAUSE_FIELDS, SENTIMENTS, sentiment_of

LONGEST_COMPLAINT: Final = 100
"""Characters of a complaint under guided decoding."""
_FIELDS: Final[dict[str, Field]] = dict.fromkeys(CAUSE_FIELDS, BOOLEAN) | {
    "sentiment": one_of(SENTIMENTS),
    "sentiment_score": STARS,
    "churn_risk": SHARE,
    "main_complaint": text(LONGEST_COMPLAINT, empty=True),
    "complaint_category": one_of(sorted(CATEGORIES)),
}


def answer(reference: Reference) -> str:
    """Return the ten fields as compact JSON; unknown values follow from the complaint and the rating."""
    rating = reference.get("rating") or 3
    known = {name: value for name, value in (reference.get("fields") or {}).items() if value is not None}
    complaint = known.get("main_complaint", "atraso na entrega" if known.get("delivery_issue") else "")
    category = known.get("complaint_category") or (categories().get(complaint, "other") if complaint else "none")
    content = rating >= 4
    plausible = {
        "sentiment": sentiment_of(rating),
        "sentiment_score": rating,
        "churn_risk": round(1 - rating / 5, 1),
        "delivery_issue": category == "delivery",
        "product_issue": category == "product",
        "seller_issue": category == "seller",
        "main_complaint": complaint,
        "complaint_category": category,
        "repeat_intent": content,
        "would_recommend": content,
    }
    fields = {name: known.get(name, plausible[name]) for name in CAUSE_FIELDS}
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


TASK: Final = CommerceTask(
    name="extraction",
    description=described(__doc__),
    system=WORDING.system,
    instruction=WORDING.instructions[0],
    inputs=ReviewInputs,
    answer=answer,
    rewards=REWARDS,
    metric=metric,
    answer_metrics=("field_f1", "complaint", "exact"),
    content=frozenset({"values"}),
    faults=spoil_json,
    answers_in_json=True,
    asked_by_reference=False,
    prompt_is_unread=False,
    serve=lambda completion, _prompt, _databases: serve_object(completion, READABLE, has_words=True),
    schema=object_schema(_FIELDS),
    grammar=json_grammar(_FIELDS),
)
