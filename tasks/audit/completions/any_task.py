"""Completions of any task: typical reward exploits, and corrupted right answers."""

from collections.abc import Sequence
from typing import Final

from tasks.audit.completions.asked import Asked, Completions
from tasks.commerce.registry import TASKS

NOTHING_SAID: Final[Completions] = {
    "nothing": "",
    "space": " \n\t ",
    "English": "The store sold very well this month and the customers are happy. I recommend to improve the delivery.",
    "empty object": "{}",
    "empty list": "[]",
    "bare SELECT": "SELECT",
    "SELECT 1": "SELECT 1",
    "bare verbs": "recomendar priorizar reduzir melhorar investir ampliar monitorar ajustar",
    "Portuguese padding": "O produto é muito bom e a loja também é. " * 8,
    "marks": "## \n- \n- \n- \n**",
    "numbers": " ".join(str(number) for number in range(200)),
    "thought": "<think>Preciso pensar no que o cliente disse antes de responder.",
}
REFUSALS: Final[Completions] = {
    "refusal": "Desculpe, mas não posso ajudar com isso.",
    "long refusal": "Não consigo responder a esta pergunta, pois não tenho acesso aos dados da loja. " * 3,
    "refusal in English": "I'm sorry, but I can't help with that request.",
}


def nothing_said(asked: Asked) -> Completions:  # noqa: ARG001 - every maker's signature
    """Return texts without content, independent of the prompt."""
    return NOTHING_SAID


def refusals(asked: Asked, facts: Sequence[str]) -> Completions:
    """Return refusals, including some that repeat the request."""
    question = asked.prompt.rpartition("\n")[2]
    found = {**REFUSALS, "refusal that repeats the question": f"Desculpe, mas não posso responder a isto: {question}"}
    if facts:
        found["refusal that names the facts"] = f"Desculpe, mas não posso criar uma resposta sobre {' e '.join(facts)}."
    return found


def echoes(asked: Asked) -> Completions:
    """Return the prompt and the system prompt, repeated."""
    system = TASKS[asked.task].system
    return {
        "prompt": asked.prompt,
        "system prompt": system,
        "both prompts": f"{system}\n{asked.prompt}",
        "prompt twice": f"{asked.prompt}\n{asked.prompt}",
    }


def stuffing(keywords: str, facts: Sequence[str]) -> Completions:
    """Return keywords without an answer, alone and beside the facts."""
    return {"keywords": keywords} | ({"facts and keywords": f"{' '.join(facts)} {keywords}"} if facts else {})


def chatter(asked: Asked) -> Completions:
    """Return the right answer surrounded by chatter."""
    return {"chatter": f"Claro! Segue a resposta:\n{asked.right}\nEspero ter ajudado!"}


def first_half(asked: Asked) -> Completions:
    """Return the right answer, truncated in the middle."""
    return {"first half": asked.right[: len(asked.right) // 2]}
