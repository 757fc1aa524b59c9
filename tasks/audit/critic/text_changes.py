"""Changes that spoil any text: shouting, a salad of its words, the prompt again, and the like."""

import random
import re
from typing import Final

from tasks.audit.critic.alteration import Case
from tasks.audit.critic.wordings import read_wordings
from tasks.commerce.registry import TASKS
from tasks.commerce.text.text_form import FUNCTION_WORDS, fold

_WORD: Final = re.compile(r"[^\s!?.,;:]+")


def shouting(case: Case, generator: random.Random) -> str:
    """Write all in capitals, with as many exclamation marks as a shout has."""
    return re.sub(r"[.!](?=\s|$)", "!" * generator.randint(4, 7), case.answer.upper())


def salad(case: Case, generator: random.Random) -> str:
    """Keep all content words in an order that says nothing, bound by small words as sentences are."""
    words = [word for word in _WORD.findall(case.answer) if fold(word) not in FUNCTION_WORDS]
    generator.shuffle(words)
    binders = read_wordings("any_task")["binders"]
    return " ".join(piece for place, word in enumerate(words) for piece in (word, binders[place % len(binders)])) + "."


def prompt_again(case: Case, generator: random.Random) -> str:  # noqa: ARG001 - every change's signature
    """Answer with the prompt."""
    return case.prompt


def system_again(case: Case, generator: random.Random) -> str:  # noqa: ARG001 - every change's signature
    """Answer with the instruction to the model."""
    return TASKS[case.task].system


def twice(case: Case, generator: random.Random) -> str:  # noqa: ARG001 - every change's signature
    """Say all of it twice."""
    return f"{case.answer}\n{case.answer}"


def cut_off(case: Case, generator: random.Random) -> str:
    """Stop in the middle."""
    return case.answer[: int(len(case.answer) * generator.uniform(0.4, 0.6))].rstrip()
