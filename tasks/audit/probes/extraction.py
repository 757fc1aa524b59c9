"""Probes of extraction: its own words, and the properties of its reward."""

from typing import Final

from tasks.audit.completions import anchored, json_objects
from tasks.audit.probes.anchor_grades import anchor_grades
from tasks.audit.probes.json_properties import JSON, PORTUGUESE_NUMBER
from tasks.audit.probes.properties import (
    FORM_COST,
    anchors,
    ceiling,
    costs,
    each_costs_more,
    known_part_counts,
    unknown_is_not_scored,
)
from tasks.audit.probes.task_probes import TaskProbes
from tasks.commerce.reward import Reference

ALWAYS_KNOWN: Final = ("sentiment", "sentiment_score")
"""Fields that a rating reveals, in a real store too."""


def _less(known: Reference) -> Reference:
    return {**known, "fields": {name: known["fields"][name] for name in ALWAYS_KNOWN}}


def _is_sufficient(reference: Reference) -> bool:
    return all(reference["fields"].get(name) is not None for name in ALWAYS_KNOWN)


PROBES: Final = TaskProbes(
    keywords="sentiment positive negative neutral sentiment_score 5 churn_risk 0.5 delivery_issue true false none",
    answer_format=(
        '{"sentiment": "positive, neutral ou negative", "sentiment_score": "1 a 5", "churn_risk": "0 a '
        '1", "delivery_issue": "true ou false", "product_issue": "true ou false", "seller_issue": "true '
        'ou false", "main_complaint": "texto curto", "complaint_category": "delivery, product, seller, '
        'price, other ou none", "repeat_intent": "true ou false", "would_recommend": "true ou false"}'
    ),
    other_language='{"sentimento": "negativo", "nota": 1, "risco": 0.9, "problema_entrega": "sim"}',
    own=(
        *JSON,
        anchors(anchor_grades("json", "extraction"), anchored.json_forms, anchored.extraction_steps),
        unknown_is_not_scored(_less),
        PORTUGUESE_NUMBER,
        known_part_counts(json_objects.wrong_answer, _less),
        costs("same_complaint", json_objects.same_complaint, 0.0, FORM_COST),
        ceiling("one_field", json_objects.one_field),
        each_costs_more("grave_error", json_objects.grave_error),
    ),
    is_sufficient=_is_sufficient,
)
