"""Probes of churn: its own words, and the properties of its reward."""

from typing import Final

from tasks.audit.completions import anchored, json_objects, reasons
from tasks.audit.probes.anchor_grades import anchor_grades
from tasks.audit.probes.json_properties import CONTRADICTION, JSON, PORTUGUESE_NUMBER
from tasks.audit.probes.properties import anchors, costs
from tasks.audit.probes.task_probes import TaskProbes

PROBES: Final = TaskProbes(
    keywords="risk_score 0.9 churn true false reasoning cliente pedidos atraso nota",
    answer_format='{"risk_score": "0 a 1", "churn": "true ou false", "reasoning": ""}',
    other_language='{"risco": "alto", "vai_sair": "sim", "motivo": "o cliente não compra há tempo"}',
    own=(
        *JSON,
        anchors(anchor_grades("json", "churn"), anchored.json_forms, anchored.churn_steps, reasons.figures),
        PORTUGUESE_NUMBER,
        CONTRADICTION,
        costs("worthless_reason", json_objects.worthless_reasons),
    ),
    by_design={"reasoning": 0.4},
)
