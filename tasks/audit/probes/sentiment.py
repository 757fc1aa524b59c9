"""Probes of sentiment: its own words, and the properties of its reward."""

from typing import Final

from tasks.audit.completions import anchored, json_objects
from tasks.audit.probes.anchor_grades import anchor_grades
from tasks.audit.probes.json_properties import CONTRADICTION, JSON
from tasks.audit.probes.properties import anchors, known_part_counts, unknown_is_not_scored
from tasks.audit.probes.task_probes import TaskProbes
from tasks.commerce.reward import Reference
from tasks.commerce.text.json_fields import sentiment_contradicts


def _less(known: Reference) -> Reference:
    return {**known, "score": None}


def _is_sufficient(reference: Reference) -> bool:
    return not sentiment_contradicts(reference["polarity"], reference["score"])


PROBES: Final = TaskProbes(
    keywords="polarity positive negative neutral score 1 2 3 4 5",
    answer_format='{"polarity": "positive, neutral ou negative", "score": "inteiro de 1 a 5"}',
    other_language='{"polaridade": "positivo", "nota": "ótima"}',
    own=(
        *JSON,
        anchors(anchor_grades("json", "sentiment"), anchored.json_forms, anchored.sentiment_steps),
        unknown_is_not_scored(_less),
        known_part_counts(json_objects.wrong_answer, _less, at_most=0.3),
        CONTRADICTION,
    ),
    is_sufficient=_is_sufficient,
)
