"""SQL: a question about the shop's figures, answered by one SQL query."""

import random
import re
from typing import Final

from tasks.commerce.commerce_task import CommerceTask, described
from tasks.commerce.faults import chat
from tasks.commerce.sql_qa.grammar import sql_grammar
from tasks.commerce.sql_qa.scorer import REWARDS, WORDING, answer
from tasks.commerce.sql_qa.truth import metric

SHARE_CARELESS_SQL: Final = 0.5


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
    grammar=sql_grammar(WORDING.system),
)
