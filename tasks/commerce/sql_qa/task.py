"""SQL: a question about the shop's figures, answered by one SQL query."""

import random
import re
from typing import Final

from tasks.commerce.commerce_task import CommerceTask, described
from tasks.commerce.faults import chat
from tasks.commerce.sql_qa.grammar import sql_grammar
from tasks.commerce.sql_qa.inputs import QuestionInputs
from tasks.commerce.sql_qa.query_text import candidates, is_alone
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.commerce.sql_qa.scorer import REWARDS, WORDING, answer, run_completion
from tasks.commerce.sql_qa.truth import metric
from tasks.commerce.usable import CheckedAnswer

SHARE_CARELESS_SQL: Final = 0.5


def _careless(right: str, generator: random.Random) -> str:
    """Leave out the conditions at times, and chat."""
    if generator.random() < SHARE_CARELESS_SQL:
        right = re.sub(r"\s+(WHERE|GROUP BY|ORDER BY)\b.*", "", right, count=1, flags=re.DOTALL)
    return chat(right, generator)


def _check(completion: str, databases: Databases | None) -> CheckedAnswer:
    """Refuse what is no query, and, where there is a store, what does not run on it."""
    sql = next(iter(candidates(completion)), None)
    if sql is None:
        return CheckedAnswer(None, "it holds no SELECT")
    if databases is not None:
        sql, (execution, *_) = run_completion(completion, databases)
        if execution.refusal is not None:
            return CheckedAnswer(sql, f"the query does not run on the store: {execution.refusal.value}")
    return CheckedAnswer(sql, None if is_alone(sql, completion) else "there is other text around the query")


TASK: Final = CommerceTask(
    name="sql_qa",
    description=described(__doc__),
    system=WORDING.system,
    instruction=WORDING.instructions[0],
    inputs=QuestionInputs,
    answer=answer,
    rewards=REWARDS,
    metric=metric,
    answer_metrics=("execution_accuracy",),
    content=frozenset({"uses", "result"}),
    faults=_careless,
    answers_in_json=False,
    asked_by_reference=True,
    prompt_is_unread=True,
    check=_check,
    grammar=sql_grammar(WORDING.system),
)
