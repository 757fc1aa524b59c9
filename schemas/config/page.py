"""Reference page of the configuration, made of the fields' docstrings: `python -m schemas.config.page`."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from schemas.config.config import Config
from schemas.source import REPOSITORY
from schemas.tasks import TASK_NAMES

Schema = Mapping[str, Any]
PAGE_FILE: Final = REPOSITORY / "docs" / "configuration.md"
INTRODUCTION: Final = """\
# Configuration

<!-- Made by `python -m schemas.config.page` of the docstrings of the fields; change those, not this page. -->

A profile is a TOML file of `infra/profiles`, or a path to one of yours. It sets what differs from the defaults below;
with `extends = "l4"` on top, what differs from that profile: sections and tables by key, lists and `counts` as a whole.
`--set SECTION.FIELD=VALUE` overrides it for one run, with the value as TOML writes it: `--set train.max_steps=80`,
`--set 'train.seeds=[1, 2, 3]'`. A key that is not on this page is refused, and so is a value outside of its range, with
exit code 2.

In brackets stand a field's default and range; of several words the first is the default. What follows a semicolon holds
where a field is not set. A section marked `[]` is a list, and one marked `NAME` has a key of yours.
"""
BOUNDS: Final = {"exclusiveMinimum": "> {}", "minimum": "≥ {}", "exclusiveMaximum": "< {}", "maximum": "≤ {}"}
TYPES: Final = {"integer": "integer", "number": "number", "boolean": "boolean", "string": "text", "object": "table"}


def config_page() -> str:
    """Return the page as Markdown: a list for each section, in the order of the configuration; a section once."""
    schema = Config.model_json_schema()
    parts = [INTRODUCTION]
    shown: dict[int, str] = {}
    for name, section, fields in _sections("", schema, schema):
        heading = f"{'###' if '.' in name else '##'} {name}\n\n" if name else ""
        if id(section) in shown:
            parts.append(f"{heading}As `{shown[id(section)]}`.\n")
            continue
        shown[id(section)] = name
        description = " ".join(section["description"].split()) if name else ""
        listed = "".join(
            f"- `{field}` ({_value(described, required=field in section.get('required', ()))}): "
            f"{' '.join(described['description'].split())}\n"
            for field, described in fields.items()
        )
        parts.append(f"{heading}{description}\n{listed and chr(10)}{listed}".lstrip("\n"))
    return "\n".join(parts)


def _sections(name: str, section: Schema, schema: Schema) -> Iterator[tuple[str, Schema, dict[str, Schema]]]:
    """Yield each section's dotted name, itself and its own fields, the sections inside it after it."""
    inner = {field: _section_of(described, schema) for field, described in section["properties"].items()}
    yield name, section, {field: section["properties"][field] for field, found in inner.items() if found is None}
    for field, found in inner.items():
        if found is not None:
            part, repeated = found
            yield from _sections(f"{name}.{field}{repeated}".removeprefix("."), part, schema)


def _section_of(described: Schema, schema: Schema) -> tuple[Schema, str] | None:
    """Return the section that a field holds, and what follows its name where it holds several."""
    places = ((described, ""), (described.get("items", {}), "[]"), (described.get("additionalProperties", {}), ".NAME"))
    for place, repeated in places:
        for choice in [place, *place.get("anyOf", [])] if isinstance(place, dict) else []:
            section = schema["$defs"].get(choice.get("$ref", "").rpartition("/")[2], {})
            if "properties" in section:
                return section, repeated
    return None


def _value(described: Schema, *, required: bool) -> str:
    """Return the default with the range, or the type where there is no default."""
    choices = [each for each in described.get("anyOf", [described]) if each.get("type") != "null"]
    first, default = choices[0], described.get("default")
    words = [f"`{word}`" for each in choices for word in each.get("enum", [each["const"]] if "const" in each else [])]
    kind = "path" if first.get("format") == "path" else TYPES.get(first.get("type", ""), "list")
    if kind == "table" and described.get("propertyNames", {}).get("enum") == list(TASK_NAMES):
        kind = "table by task"
    bounds = [sign.format(_toml(first[bound])) for bound, sign in BOUNDS.items() if bound in first]
    if {"minimum", "maximum"} <= first.keys():
        bounds = [f"{_toml(first['minimum'])} to {_toml(first['maximum'])}"]
    if required or default is None:
        return ", ".join(["required"] * required + (words or [kind]) + bounds)
    if words and isinstance(default, str):
        return ", ".join(dict.fromkeys([f"`{default}`", *words]))
    return ", ".join([f"`{_toml(default)}`", *bounds])


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {_toml(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return f"{value:g}" if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    PAGE_FILE.write_text(config_page(), encoding="utf-8")
