"""SQL: a question about the shop's figures, answered by one SQL query."""

import random
import re
from collections.abc import Sequence
from typing import Final

from schemas.documents import Rollout
from tasks.commerce.commerce_task import CommerceTask, described
from tasks.commerce.faults import chat
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.commerce.sql_qa.scorer import (
    REWARDS,
    WORDING,
    answer,
    reference_executions,
    required_databases,
    result_agreement,
    run_completion,
)

SHARE_CARELESS_SQL: Final = 0.35


def metric(rollouts: Sequence[Rollout], databases: Databases | None) -> dict[str, float]:
    """Return the execution accuracy: the share of queries whose result is the reference's on every copy."""
    right: list[bool] = []
    for rollout in rollouts:
        wanted = reference_executions(rollout.reference, required_databases(databases)) if rollout.reference else None
        if wanted is not None:
            _, executions = run_completion(rollout.completion, required_databases(databases))
            right.append(result_agreement(executions, wanted, answer(rollout.reference or {})) == 1.0)
    return {"execution_accuracy": sum(right) / len(right)} if right else {}


def _careless(right: str, generator: random.Random) -> str:
    """Leave out the conditions at times, and chat."""
    if generator.random() < SHARE_CARELESS_SQL:
        right = re.sub(r"\s+(WHERE|GROUP BY|ORDER BY)\b.*", "", right, count=1, flags=re.DOTALL)
    return chat(right, generator)


TASK: Final = CommerceTask(
    name="sql_qa",
    description=described(__doc__),
    system=WORDING.system,
    answer=answer,
    rewards=REWARDS,
    metric=metric,
    answer_metrics=("execution_accuracy",),
    content=frozenset({"uses", "result"}),
    faults=_careless,
    answers_in_json=False,
    asked_by_reference=True,
    prompt_is_unread=True,
)
