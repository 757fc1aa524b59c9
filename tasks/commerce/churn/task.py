"""Churn: risk that a customer does not buy again."""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final

from schemas.documents import Rollout
from tasks.commerce.churn.scorer import REWARDS, WORDING
from tasks.commerce.commerce_task import CommerceTask, described
from tasks.commerce.faults import spoil_json
from tasks.commerce.reward import Reference
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.commerce.text.json_fields import read_share
from tasks.commerce.text.parser import parse_object


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


def metric(rollouts: Sequence[Rollout], databases: Databases | None) -> dict[str, float]:  # noqa: ARG001 - every task's signature
    """Return the accuracy of the answer and the AUC of the risk; unreadable answers count as wrong and 0.5.

    The AUC (Mann-Whitney: a shopper who left has the higher risk, ties half) is absent if only one answer occurs.
    """
    right = 0
    left, stayed = list[float](), list[float]()
    for rollout in rollouts:
        churned = (rollout.reference or {}).get("churn")
        if churned is None:
            continue
        fields = parse_object(rollout.completion).value or {}
        right += fields.get("churn") is churned
        risk = read_share(fields.get("risk_score"))
        (left if churned else stayed).append(0.5 if risk is None else risk)
    if not left and not stayed:
        return {}
    accuracy = right / (len(left) + len(stayed))
    if not left or not stayed:
        return {"accuracy": accuracy}
    stayed.sort()
    wins = sum(bisect_left(stayed, risk) + bisect_right(stayed, risk) for risk in left) / 2
    return {"accuracy": accuracy, "auc": wins / (len(left) * len(stayed))}


TASK: Final = CommerceTask(
    name="churn",
    description=described(__doc__),
    system=WORDING.system,
    answer=answer,
    rewards=REWARDS,
    metric=metric,
    answer_metrics=("accuracy",),
    content=frozenset({"churn", "risk"}),
    faults=spoil_json,
    answers_in_json=True,
    asked_by_reference=False,
    prompt_is_unread=False,
)
