"""SQL: a question about the shop's figures, answered by one SQL query."""

import random
import re
from typing import Final

from tasks.commerce.commerce_task import CommerceTask, described
from tasks.commerce.grammar import FAULTS, chat
from tasks.commerce.served import Served
from tasks.commerce.sql_qa.grammar import sql_grammar
from tasks.commerce.sql_qa.prompts import WORDING, QuestionInputs
from tasks.commerce.sql_qa.query_text import candidates, is_alone
from tasks.commerce.sql_qa.sandbox import Databases, Refusal
from tasks.commerce.sql_qa.scorer import REWARDS, answer, run_completion
from tasks.commerce.sql_qa.truth import metric

REFUSED: Final = {
    Refusal.INVALID: "a consulta não roda nas tabelas da loja",
    Refusal.FORBIDDEN: "a consulta faria mais do que ler as tabelas da loja",
    Refusal.TOO_MUCH: "a consulta passa dos limites de tempo, memória ou linhas",
}


def _careless(right: str, generator: random.Random) -> str:
    """Leave out the conditions at times, and chat."""
    if generator.random() < FAULTS.sql_qa.no_conditions:
        right = re.sub(r"\s+(WHERE|GROUP BY|ORDER BY)\b.*", "", right, count=1, flags=re.DOTALL)
    return chat(right, generator)


def _serve(completion: str, databases: Databases | None) -> Served:
    """Give the query away alone, once it has run on the store where there is one."""
    sql = next(iter(candidates(completion)), None)
    if sql is None:
        return Served(None, False, "não há SELECT na resposta")
    if databases is None:
        return Served(sql, False, "a consulta não foi executada, pois a loja não está aqui", sql)
    sql, (execution, *_) = run_completion(completion, databases)
    if execution.refusal is not None:
        return Served(None, False, REFUSED[execution.refusal])
    alone = is_alone(sql, completion)
    return Served(sql, alone, None if alone else "o texto em volta da consulta foi omitido", sql)


TASK: Final = CommerceTask(
    name="sql_qa",
    description=described(__doc__),
    inputs=QuestionInputs,
    answer=answer,
    rewards=REWARDS,
    metric=metric,
    answer_metrics=("execution_accuracy",),
    content=frozenset({"uses", "result"}),
    faults=_careless,
    asked_by_reference=True,
    prompt_is_unread=True,
    serve=lambda completion, _, databases: _serve(completion, databases),
    grammar=sql_grammar(WORDING.system),
)
