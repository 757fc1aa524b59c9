"""Schemas that clients ask answers to satisfy: one is granted where every answer of the task satisfies it.

The check is sound and not complete: a keyword that it does not know is not granted, unless the task's own schema has it
alike. It compares keyword by keyword (https://json-schema.org/draft/2020-12/json-schema-validation), and takes no time
that a hostile schema could stretch.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import unquote

Schema = Mapping[str, Any]

ANNOTATIONS: Final = frozenset(
    {"$comment", "$defs", "$schema", "default", "definitions", "deprecated", "description", "examples", "title"}
)
"""Keywords that ask nothing of an answer; nor does one of somebody's own, which begins with `x-`."""
MAX_STEPS: Final = 200
"""Schemas that are looked at: a hostile one refers to itself, or to the same one many times."""
_BOUNDS: Final[Mapping[str, Callable[[Schema, float], bool]]] = {
    "minimum": lambda given, value: given["minimum"] >= value,
    "maximum": lambda given, value: given["maximum"] <= value,
    "exclusiveMinimum": lambda given, value: given["minimum"] > value,
    "exclusiveMaximum": lambda given, value: given["maximum"] < value,
}


def is_granted(given: Schema, wanted: Schema) -> bool:
    """Return whether all answers of the given schema are sure to satisfy a client's."""
    return _Comparison(wanted).holds(given, wanted)


class _Comparison:
    def __init__(self, root: Schema) -> None:
        self._root, self._steps = root, 0

    def holds(self, given: Schema, wanted: Any) -> bool:
        """Return whether every value of a given schema satisfies another."""
        self._steps += 1
        if wanted is True:
            return True
        if not isinstance(wanted, dict) or self._steps > MAX_STEPS:
            return False
        # Loops and no generators, whose frames a hostile schema would pile up.
        for keyword in wanted:
            is_asked = keyword not in ANNOTATIONS and not keyword.startswith("x-")
            if is_asked and not self._keyword_holds(given, wanted, keyword):
                return False
        return True

    def _keyword_holds(self, given: Schema, wanted: Schema, keyword: str) -> bool:
        value, fields = wanted[keyword], given.get("properties", {})
        if keyword == "$ref":
            return self.holds(given, self._referred(value))
        if keyword in {"anyOf", "allOf"} and isinstance(value, list):
            for branch in value:
                if self.holds(given, branch) == (keyword == "anyOf"):
                    return keyword == "anyOf"
            return keyword == "allOf"
        # A field that no answer has satisfies whatever is asked of it.
        if keyword == "properties" and isinstance(value, dict):
            return all(self.holds(fields[name], schema) for name, schema in value.items() if name in fields)
        if keyword == "additionalProperties":
            named = wanted.get("properties")
            others = [name for name in fields if not isinstance(named, dict) or name not in named]
            return all(self.holds(fields[name], value) for name in others)
        return _holds(given, keyword, value)

    def _referred(self, reference: Any) -> Any:
        """Return what a reference within the schema leads to; False, which nothing satisfies, for any other.

        It is a JSON pointer in a URI: https://www.rfc-editor.org/rfc/rfc6901#section-6.
        """
        found: Any = self._root
        if not isinstance(reference, str) or not f"{reference}/".startswith("#/"):
            return False
        for part in unquote(reference[1:]).split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            inside = {str(place): each for place, each in enumerate(found)} if isinstance(found, list) else found
            if not isinstance(inside, dict) or key not in inside:
                return False
            found = inside[key]
        return found


def _holds(given: Schema, keyword: str, value: Any) -> bool:
    """Return whether every value of a given schema satisfies a keyword."""
    kind = given.get("type", "string")
    if keyword == "type":
        kinds = value if isinstance(value, list) else [value]
        return kind in kinds or (kind == "integer" and "number" in kinds)
    if keyword == "required" and isinstance(value, list):
        return kind != "object" or all(name in given["required"] for name in value)
    if keyword in {"enum", "const"}:
        values = value if keyword == "enum" and isinstance(value, list) else [value]
        return bool(every := _values(given)) and all(any(_are_equal(each, one) for one in values) for each in every)
    if keyword in _BOUNDS and isinstance(value, (int, float)) and not isinstance(value, bool):
        return kind not in {"integer", "number"} or _BOUNDS[keyword](given, value)
    return keyword in given and _are_equal(given[keyword], value)


def _values(given: Schema) -> list[Any]:
    """Return the values of a given schema; none where they are too many to list."""
    if "enum" in given:
        return list(given["enum"])
    if given["type"] == "integer":
        return list(range(given["minimum"], given["maximum"] + 1))
    return [False, True] if given["type"] == "boolean" else []


def _are_equal(value: Any, other: Any) -> bool:
    """Compare as JSON does, where true is not 1."""
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)
