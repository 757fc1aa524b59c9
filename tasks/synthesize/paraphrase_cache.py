"""Cache key of a paraphrase: the same question is never sent twice.

A language model's answer cannot be reproduced; it is an input of the prompts made from it. So the cache is what makes
equal inputs give equal bytes.
"""

import hashlib
from typing import Final

from schemas.tables.prompts import canonical_json

FILE: Final = "answers.sqlite3"


def question_key(model: str, temperature: float, instruction: str, text: str, variant: int, ask: int) -> str:
    """Return the sha256 of everything that decides an answer."""
    question = {
        "model": model,
        "temperature": temperature,
        "instruction": instruction,
        "text": text,
        "variant": variant,
        "ask": ask,
    }
    return hashlib.sha256(canonical_json(question).encode()).hexdigest()
