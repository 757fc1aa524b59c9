"""Faults of the source project's base model, which several tasks' demonstrations have."""

import json
import random
from typing import Any, Final

OPENINGS: Final = (
    "Claro! Segue a resposta:\n",
    "Aqui está o resultado solicitado:\n",
    "Com certeza! Vou ajudar com isso.\n",
)
CLOSINGS: Final = ("\nEspero ter ajudado!", "\nQualquer dúvida, estou à disposição.")
SHARE_WRONG_TYPE: Final = 0.15
SHARE_MISSING_FIELD: Final = 0.04
SHARE_WRONG_VALUE: Final = 0.05
SHARE_TRAILING_COMMA: Final = 0.8
SHARE_CHATTER: Final = 0.85
SHARE_OPENING: Final = 0.3
"""Share of the chatter that begins before the answer."""


def spoil_json(answer: str, generator: random.Random) -> str:
    """Give a JSON object a trailing comma mostly; wrong types, missing fields, wrong values and chatter at times."""
    fields = json.loads(answer)
    # One demonstration has all types wrong or none: a habit of a whole answer, as in the source project's base model.
    wrong_types = generator.random() < SHARE_WRONG_TYPE
    spoiled = {
        name: _spoil_value(name, value, wrong_types, generator)
        for name, value in fields.items()
        if generator.random() >= SHARE_MISSING_FIELD
    }
    written = json.dumps(spoiled, ensure_ascii=False, separators=(",", ":"))
    if spoiled and generator.random() < SHARE_TRAILING_COMMA:
        return written.removesuffix("}") + ",}"
    return chat(written, generator)


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


def chat(answer: str, generator: random.Random) -> str:
    """Chat after an answer at times, and before it too at some of them."""
    if generator.random() >= SHARE_CHATTER:
        return answer
    opening = generator.choice(OPENINGS) if generator.random() < SHARE_OPENING else ""
    return opening + answer + generator.choice(CLOSINGS)
