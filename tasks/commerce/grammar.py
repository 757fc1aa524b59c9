"""Grammars of answers, in the Lark notation of llguidance, which the laptop's engine, transformers and vLLM read alike.

An object is compact JSON with its fields in one order; a text in it has a length, and no escape, line end or emoji.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

Field = Mapping[str, Any]
"""JSON schema of one field."""

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
    """Return a text's field: prose that begins with a letter or digit, of so many characters at most.

    Args:
        longest: Characters.
        empty: Whether it may be empty.
    """
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
