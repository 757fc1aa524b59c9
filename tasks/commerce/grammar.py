"""Forms of answers: their grammars, how an object is served, and the faults that demonstrations of a stand-in have.

A grammar is in the Lark notation of llguidance, which the laptop's engine, transformers and vLLM read alike. An object
is compact JSON with its fields in one order; a text in it has a length, and no escape, line end or emoji.
"""

import json
import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from tasks.commerce.served import Served, written
from tasks.commerce.text.lexicons import read_entries
from tasks.commerce.text.parser import parse_object

DATA_FILES: Final = ("data/wordings/faults.toml",)
FAULTS: Final = read_entries("wordings/faults.toml")
Field = Mapping[str, Any]  # JSON schema of one field.

BOOLEAN: Final[Field] = {"type": "boolean"}
STARS: Final[Field] = {"type": "integer", "minimum": 1, "maximum": 5}
SHARE: Final[Field] = {"type": "number", "minimum": 0, "maximum": 1, "multipleOf": 0.01}
"""From 0 to 1 with two decimals, so that no digits follow for ever."""

_LETTER: Final = "A-Za-zÀ-ÖØ-öø-ÿ"
_PROSE: Final = rf"[{_LETTER}0-9 !#$%&'()*+,./:;<=>?@_ªº°–—-]"


def one_of(values: Iterable[str]) -> Field:
    """Return the field of a closed list."""
    return {"enum": list(values)}


def text(longest: int, *, empty: bool = False) -> Field:
    """Return a text's field: prose that begins with a letter or digit, of so many characters at most."""
    words = f"[{_LETTER}0-9]{_PROSE}*"
    return {"type": "string", "pattern": f"^({words})?$" if empty else f"^{words}$", "maxLength": longest}


def json_grammar(fields: Mapping[str, Field]) -> str:
    """Return the grammar of a compact JSON object of just these fields, in this order."""
    schema = {"x-guidance": {"whitespace_flexible": False}} | object_schema(fields)
    return f"start: %json {json.dumps(schema, ensure_ascii=False)}"


def object_schema(fields: Mapping[str, Field]) -> dict[str, Any]:
    """Return the JSON schema of an object of just these fields."""
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def literals(texts: Iterable[str]) -> str:
    """Return the alternatives of some texts, each as the literal that stands for its JSON string."""
    return " | ".join(json.dumps(json.dumps(text, ensure_ascii=False), ensure_ascii=False) for text in texts)


def serve_object(completion: str, checks: Mapping[str, Callable[[Any], bool]]) -> Served:
    """Read an answer that is to be one JSON object with exactly these fields, and nothing else."""
    found, needed = parse_object(completion)[:2]
    if found is None or needed:
        return Served(None, False, "a resposta não é só um objeto JSON")
    if found.keys() != checks.keys():
        return Served(None, False, f"os campos não são os pedidos: {', '.join(checks)}")
    if wrong := [name for name, holds in checks.items() if not holds(found[name])]:
        return Served(None, False, f"valores fora dos permitidos: {', '.join(wrong)}")
    return Served(written(found), True, None, found)


def spoil_json(answer: str, generator: random.Random) -> str:
    """Give a JSON object a trailing comma mostly; wrong types, missing fields, wrong values and chatter at times."""
    fields = json.loads(answer)
    # One demonstration has all types wrong or none: a habit of a whole answer, as in the source project's base model.
    wrong_types = generator.random() < FAULTS.json.wrong_types
    spoiled = {
        name: _spoil_value(name, value, wrong_types, generator)
        for name, value in fields.items()
        if generator.random() >= FAULTS.json.missing_field
    }
    text = written(spoiled)
    if spoiled and generator.random() < FAULTS.json.trailing_comma:
        return text.removesuffix("}") + ",}"
    return chat(text, generator)


def _spoil_value(name: str, value: Any, wrong_type: bool, generator: random.Random) -> Any:
    if isinstance(value, bool) and not wrong_type:
        return not value if generator.random() < FAULTS.json.wrong_value else value
    if isinstance(value, bool):
        return name if value else "não"
    if isinstance(value, int) and wrong_type:
        return round(value / 5, 1)
    return str(value).replace(".", ",") if isinstance(value, float) and wrong_type else value


def chat(answer: str, generator: random.Random) -> str:
    """Chat after an answer at times, and before it too at some of them."""
    chatter = FAULTS.chatter
    if generator.random() >= chatter.share:
        return answer
    opening: str = generator.choice(chatter.openings) if generator.random() < chatter.before else ""
    return opening + answer + str(generator.choice(chatter.closings))
