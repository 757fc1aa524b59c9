"""By what an answer of the paraphrasing model is kept and found again: the same question is never asked twice.

A language model's answer cannot be had again; what it once said is an input of the prompts that are made from it. So
the cache is what makes equal inputs give equal bytes.
"""

import hashlib
from typing import Final

from schemas.prompts import canonical_json

FILE: Final = "answers.sqlite3"


def question_key(model: str, temperature: float, instruction: str, text: str, variant: int, ask: int) -> str:
    """Return the sha256 of all that decides an answer.

    Args:
        model: The model's name.
        temperature: Its sampling temperature.
        instruction: What it is told to do.
        text: The sentence.
        variant: Which of several paraphrases of the sentence this is to be.
        ask: How often it was asked for before, and refused.
    """
    question = {
        "model": model,
        "temperature": temperature,
        "instruction": instruction,
        "text": text,
        "variant": variant,
        "ask": ask,
    }
    return hashlib.sha256(canonical_json(question).encode()).hexdigest()
