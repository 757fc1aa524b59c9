"""Useless answers, by kind: refusals, nothing, the right form with wrong content, and one answer to everything."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from benchmarks.useless.world import WORDINGS, Answer, Asked, World
from schemas.tasks import TASK_NAMES
from tasks.commerce.registry import TASKS

INVISIBLE: Final = "\u200b\u2060"
UNKNOWN: Final = ("não informado", "N/A", "desconhecido", "não sei")
NEUTRAL: Final[Mapping[str, Mapping[str, Any]]] = {
    "sentiment": {"polarity": "neutral", "score": 3},
    "churn": {"risk_score": 0.5, "churn": False, "reasoning": "Não há informações suficientes para avaliar."},
    "extraction": {
        "sentiment": "neutral",
        "sentiment_score": 3,
        "churn_risk": 0.5,
        "delivery_issue": False,
        "product_issue": False,
        "seller_issue": False,
        "main_complaint": "",
        "complaint_category": "none",
        "repeat_intent": False,
        "would_recommend": False,
    },
}


def right(asked: Asked, _: int) -> str:
    """Return the right answer."""
    return asked.right


def weak(asked: Asked, _: int) -> str:
    """Return what a model says that never learned the task: the prompt's words, turned round."""
    return "Segue: " + " ".join(reversed(asked.prompt.split()))


def said(texts: Sequence[str]) -> Answer:
    """Return an answer that takes these in turn."""
    return lambda _, number: texts[number % len(texts)]


def halves(name: str) -> tuple[list[str], list[str]]:
    """Return the wordings of a list that the detector was made with, and those that were held out."""
    return WORDINGS[name][::2], WORDINGS[name][1::2]


def refusals(held_out: bool) -> list[str]:
    """Return refusals in the three languages."""
    return [text for name in ("portuguese", "english", "spanish") for text in halves(name)[held_out]]


def attacks(world: World) -> dict[str, Answer]:
    """Return the attacks on a champion that answered right."""

    def other(asked: Asked, number: int) -> str:
        prompts = world.asked[asked.task]
        return prompts[(number * 7 + 13) % len(prompts)].right

    def of_another_task(asked: Asked, number: int) -> str:
        task = TASK_NAMES[(TASK_NAMES.index(asked.task) + 1) % len(TASK_NAMES)]
        return world.asked[task][number % len(world.asked[task])].right

    def constant(asked: Asked, _: int) -> str:
        return world.tested[asked.task][0].right

    def nearly_constant(asked: Asked, number: int) -> str:
        return constant(asked, number) if number % 10 else asked.right

    def few(asked: Asked, number: int) -> str:
        return world.tested[asked.task][number * 5 % 3].right

    return {
        "refusals": said(refusals(held_out=False)),
        "refusals, held out": said(refusals(held_out=True)),
        "null, N/A, não sei": said(WORDINGS["nothing"][::2]),
        "null, N/A, held out": said(WORDINGS["nothing"][1::2]),
        "refusal behind invisible characters": lambda _, number: INVISIBLE.join(refusals(False)[number % 20]),
        "refusal in fields of JSON, in SQL": in_fields,
        "empty fields": lambda asked, _: emptied(asked),
        "one neutral answer of the form": lambda asked, _: neutral(asked),
        "the prompt": lambda asked, _: asked.prompt,
        "one right answer for all": constant,
        "the same, nine in ten": nearly_constant,
        "three right answers in turn": few,
        "another prompt's right answer": other,
        "another task's right answer": of_another_task,
        "first half of the right answer": lambda asked, _: asked.right[: len(asked.right) // 2],
        "opposite values": lambda asked, _: opposite(asked),
    }


def in_fields(asked: Asked, number: int) -> str:
    """Return a refusal in the task's form: as the value of each text in JSON, as the result of a query, in prose."""
    unknown = UNKNOWN[number % len(UNKNOWN)]
    if TASKS[asked.task].answers_in_json:
        fields = {name: unknown if isinstance(value, str) else value for name, value in json.loads(asked.right).items()}
        return json.dumps(fields, ensure_ascii=False)
    if asked.task == "sql_qa":
        return f"SELECT '{unknown}'"
    return f"## Destaques\n- {unknown.capitalize()}.\n- {refusals(False)[number % 20]}"


def emptied(asked: Asked) -> str:
    """Return the right answer without any value."""
    if TASKS[asked.task].answers_in_json:
        return json.dumps(dict.fromkeys(json.loads(asked.right)))
    return "SELECT NULL" if asked.task == "sql_qa" else "Título:\nTexto:"


def neutral(asked: Asked) -> str:
    """Return one answer of the task's form that decides nothing."""
    if asked.task in NEUTRAL:
        return json.dumps(NEUTRAL[asked.task], ensure_ascii=False)
    if asked.task == "sql_qa":
        return "SELECT COUNT(*) FROM orders"
    return "Tudo bem com a loja e com os clientes. Aproveite as nossas ofertas de hoje!"


def opposite(asked: Asked) -> str:
    """Return the right answer with its values turned round."""
    turned: Mapping[Any, Any] = {"positive": "negative", "negative": "positive", True: False, False: True}
    if not TASKS[asked.task].answers_in_json:
        # Digits are the facts of a query, an offer and an analysis.
        return asked.right.translate(str.maketrans("0123456789", "9876543210"))
    found = {}
    for name, value in json.loads(asked.right).items():
        if isinstance(value, bool | str):
            found[name] = turned.get(value, value)
        else:
            found[name] = 6 - value if isinstance(value, int) else round(1 - value, 2)
    return json.dumps(found, ensure_ascii=False)
