"""Churn: risk that a customer does not buy again."""

import json
from typing import Final

from tasks.commerce.churn.inputs import ChurnInputs
from tasks.commerce.churn.scorer import CHECKS, REWARDS, WORDING
from tasks.commerce.churn.truth import metric
from tasks.commerce.commerce_task import CommerceTask, described
from tasks.commerce.faults import spoil_json
from tasks.commerce.grammar import BOOLEAN, SHARE, json_grammar, object_schema, text
from tasks.commerce.reward import Reference
from tasks.commerce.served import serve_object

LONGEST_REASON: Final = 300
"""Characters of a reason under guided decoding: three sentences."""
_FIELDS: Final = {"risk_score": SHARE, "churn": BOOLEAN, "reasoning": text(LONGEST_REASON)}


def answer(reference: Reference) -> str:
    """Return risk, answer and reason as compact JSON."""
    if reference.get("churn"):
        fields = {
            "risk_score": 0.9,
            "churn": True,
            "reasoning": "O histórico do cliente indica que ele não deve voltar.",
        }
    else:
        fields = {"risk_score": 0.1, "churn": False, "reasoning": "O histórico do cliente indica que ele deve voltar."}
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


TASK: Final = CommerceTask(
    name="churn",
    description=described(__doc__),
    system=WORDING.system,
    instruction=WORDING.instructions[0],
    inputs=ChurnInputs,
    answer=answer,
    rewards=REWARDS,
    metric=metric,
    answer_metrics=("accuracy",),
    content=frozenset({"churn", "risk"}),
    faults=spoil_json,
    answers_in_json=True,
    asked_by_reference=False,
    prompt_is_unread=False,
    serve=lambda completion, _prompt, _databases: serve_object(completion, CHECKS, has_words=True),
    schema=object_schema(_FIELDS),
    grammar=json_grammar(_FIELDS),
)
