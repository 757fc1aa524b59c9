"""Imperfect demonstrations for the stand-in's warm start, with the faults of the source project's base model.

A stand-in that had only seen right answers would leave GRPO nothing to teach. Each demonstration is the reference
answer with some of: wrong JSON types, missing fields, wrong values, chatter around the answer, over-long and formal
pushes, flat insights, careless SQL. The right forms are among them, each often enough to be sampled.
"""

import json
import random
import re
from collections.abc import Callable, Mapping
from typing import Any

from schemas.tasks import TaskName
from tasks.commerce import registry

OPENINGS = (
    "Claro! Segue a resposta:\n",
    "Aqui está o resultado solicitado:\n",
    "Com certeza! Vou ajudar com isso.\n",
)
CLOSINGS = ("\nEspero ter ajudado!", "\nQualquer dúvida, estou à disposição.")
PUSH_GREETINGS = ("Prezado cliente, ", "Prezada cliente, informamos que ")
PUSH_TAILS = (
    " Esta é uma oportunidade única preparada para você, aproveite agora mesmo e confira todas as condições.",
    " Acesse o nosso aplicativo, confira o catálogo e aproveite as condições especiais que separamos para você.",
)
SHARE_WRONG_TYPE = 0.45
SHARE_MISSING_FIELD = 0.12
SHARE_WRONG_VALUE = 0.10
SHARE_CHATTER = 0.45
SHARE_LONG_PUSH = 0.55
SHARE_FORMAL_PUSH = 0.40
SHARE_FLAT_INSIGHTS = 0.60
SHARE_CARELESS_SQL = 0.35


def demonstrate(task: TaskName, reference: Mapping[str, Any], generator: random.Random) -> str:
    """Return a nearly right answer for the stand-in to learn.

    Args:
        task: The prompt's task.
        reference: The known facts of the right answer.
        generator: Decides the answer's faults.
    """
    answer = registry.TASKS[task].answer(reference)
    return _FAULTS[task](answer, generator)


def _spoil_json(answer: str, generator: random.Random) -> str:
    fields = json.loads(answer)
    # One demonstration has all types wrong or none: a habit of a whole answer, as in the source project's base model.
    wrong_types = generator.random() < SHARE_WRONG_TYPE
    spoiled = {
        name: _spoil_value(name, value, wrong_types, generator)
        for name, value in fields.items()
        if generator.random() >= SHARE_MISSING_FIELD
    }
    return _chat(json.dumps(spoiled, ensure_ascii=False, separators=(",", ":")), generator)


def _spoil_value(name: str, value: Any, wrong_type: bool, generator: random.Random) -> Any:
    if isinstance(value, bool):
        if wrong_type:
            return name if value else "não"
        return not value if generator.random() < SHARE_WRONG_VALUE else value
    if isinstance(value, int):
        return round(value / 5, 1) if wrong_type else value
    if isinstance(value, float):
        return str(value).replace(".", ",") if wrong_type else value
    return value


def _spoil_push(answer: str, generator: random.Random) -> str:
    greeting = generator.choice(PUSH_GREETINGS) if generator.random() < SHARE_FORMAL_PUSH else ""
    tail = generator.choice(PUSH_TAILS) if generator.random() < SHARE_LONG_PUSH else ""
    return greeting + answer + tail


def _spoil_insights(answer: str, generator: random.Random) -> str:
    if generator.random() >= SHARE_FLAT_INSIGHTS:
        return _chat(answer, generator)
    flat = re.sub(r"^[#\-*•\d.\s]+", "", answer, flags=re.MULTILINE).replace("**", "")
    sentences = [line.strip() for line in flat.splitlines() if line.strip()]
    return " ".join(sentences[: max(1, len(sentences) // 2)])


def _spoil_sql(answer: str, generator: random.Random) -> str:
    if generator.random() < SHARE_CARELESS_SQL:
        answer = re.sub(r"\s+(WHERE|GROUP BY|ORDER BY)\b.*", "", answer, count=1, flags=re.DOTALL)
    return _chat(answer, generator)


def _chat(answer: str, generator: random.Random) -> str:
    if generator.random() >= SHARE_CHATTER:
        return answer
    closing = generator.choice(CLOSINGS) if generator.random() < 0.5 else ""
    return generator.choice(OPENINGS) + answer + closing


_FAULTS: Mapping[TaskName, Callable[[str, random.Random], str]] = {
    "extraction": _spoil_json,
    "sql_qa": _spoil_sql,
    "insights": _spoil_insights,
    "push": _spoil_push,
    "sentiment": _spoil_json,
    "churn": _spoil_json,
}
