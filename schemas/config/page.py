"""Reference page of the configuration, made of the fields' docstrings: `python -m schemas.config.page`."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from schemas.config.json_schema import config_schema
from schemas.source import REPOSITORY
from schemas.tasks import TASK_NAMES

Schema = Mapping[str, Any]
PAGE_FILE: Final = REPOSITORY / "docs" / "configuration.md"
INTRODUCTION: Final = """\
# Configuration

<!-- Made by `python -m schemas.config.page` of the docstrings of the fields; change those, not this page. -->

A profile is a TOML file of `infra/profiles`, or a path to one of yours. It sets what differs from the defaults below;
with `extends = "l4"` on top, what differs from that profile: sections and tables by key, lists as a whole.
`--set SECTION.FIELD=VALUE` overrides it for one run, with the value as TOML writes it: `--set train.max_steps=80`,
`--set 'train.seeds=[1, 2, 3]'`. A key that is not on this page is refused, and so is a value outside of its range, with
exit code 2. Editors that know `#:schema` complete and check profiles by `infra/config.schema.json`, which has the same
fields.
"""
# Symbols of the schema's bounds, in the order in which a range is read.
BOUNDS: Final = {"exclusiveMinimum": "> {}", "minimum": "≥ {}", "exclusiveMaximum": "< {}", "maximum": "≤ {}"}
TYPES: Final = {"integer": "integer", "number": "number", "boolean": "boolean", "string": "text", "object": "table"}


def config_page() -> str:
    """Return the page as Markdown: a table for each section, in the order of the configuration."""
    schema = config_schema()
    parts = [INTRODUCTION]
    for name, section, fields in _sections("", schema, schema):
        heading = f"{'###' if '.' in name else '##'} {name}\n\n" if name else ""
        description = f"{' '.join(section['description'].split())}\n\n" if name else ""
        parts.append(heading + description + _table(fields, section.get("required", ()), schema))
    return "\n".join(parts)


def write_page(path: Path = PAGE_FILE) -> None:
    """Write the page; equal models give equal bytes."""
    path.write_text(config_page(), encoding="utf-8")


def _sections(name: str, section: Schema, schema: Schema) -> Iterator[tuple[str, Schema, dict[str, Schema]]]:
    """Yield each section's dotted name, itself and its own fields, the sections inside it after it."""
    inner = {field: _section_of(described, schema) for field, described in section["properties"].items()}
    own = {
        field: described
        for field, described in section["properties"].items()
        if inner[field] is None or "$ref" not in described
    }
    if own:
        yield name, section, own
    for field, found in inner.items():
        if found is not None:
            part, repeated = found
            yield from _sections(f"{name}.{field}{repeated}".removeprefix("."), part, schema)


def _section_of(described: Schema, schema: Schema) -> tuple[Schema, str] | None:
    """Return the section that a field holds, and what follows its name where it holds several."""
    places = ((described, ""), (described.get("items", {}), "[]"), (described.get("additionalProperties", {}), ".NAME"))
    for place, repeated in places:
        if isinstance(place, dict) and (section := _referenced(place, schema)) is not None:
            return section, repeated
    return None


def _referenced(described: Schema, schema: Schema) -> Schema | None:
    choices = [described, *described.get("anyOf", [])]
    found = [schema["$defs"][choice["$ref"].rpartition("/")[2]] for choice in choices if "$ref" in choice]
    return next((section for section in found if "properties" in section), None)


def _table(fields: Mapping[str, Schema], required: Collection[str], schema: Schema) -> str:
    lines = ["| field | value | default | meaning |", "|---|---|---|---|"]
    for field, described in fields.items():
        default = "must be set" if field in required else _default(described.get("default"))
        meaning = " ".join(described["description"].split())
        cells = (f"`{field}`", _value(described, schema), default, meaning)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines) + "\n"


def _default(value: Any) -> str:
    return "not set" if value is None else f"`{_toml(value)}`"


def _toml(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case list():
            return f"[{', '.join(map(_toml, value))}]"
        case dict():
            return f"{{{', '.join(f'{key} = {_toml(inner)}' for key, inner in value.items())}}}"
        case _:
            return f"{value:g}" if isinstance(value, float) else str(value)


def _value(described: Schema, schema: Schema) -> str:
    """Return the type with its range, or the words that may stand there."""
    if choices := described.get("anyOf"):
        return " or ".join(_value(choice, schema) for choice in choices if choice.get("type") != "null")
    if "$ref" in described:
        return "section, see below" if _referenced(described, schema) else "any value"
    if words := described.get("enum", [described["const"]] if "const" in described else None):
        return ", ".join(f"`{word}`" for word in words)
    if described["type"] == "array":
        return f"list of {_value(described['items'], schema)}"
    if described["type"] == "object":
        by_task = described.get("propertyNames", {}).get("enum") == list(TASK_NAMES)
        return f"table by {'task' if by_task else 'name'}: {_value(described['additionalProperties'], schema)}"
    name = "path" if described.get("format") == "path" else TYPES[described["type"]]
    bounds = [sign.format(_toml(described[bound])) for bound, sign in BOUNDS.items() if bound in described]
    return f"{name} {', '.join(bounds)}".strip()


if __name__ == "__main__":
    write_page()
