"""JSON Schema of the configuration, for editors to complete and check profiles: `python -m schemas.config.json_schema`.

Profiles name it in their first line, `#:schema ../config.schema.json`, as Taplo and its editors' extensions read it.
"""

import json
from pathlib import Path
from typing import Any, Final

from schemas.config.config import Config
from schemas.config.profiles import EXTENDS
from schemas.source import REPOSITORY

SCHEMA_FILE: Final = REPOSITORY / "infra" / "config.schema.json"


def config_schema() -> dict[str, Any]:
    """Return the JSON Schema of a profile; paths in the repository are relative, so that it is the same everywhere."""
    schema: dict[str, Any] = _without_folder(Config.model_json_schema())
    schema["properties"][EXTENDS] = {
        "description": "Name of a profile, or its path from this one, whose values hold otherwise.",
        "type": "string",
    }
    # What a profile must set may stand in the one that it extends.
    schema["anyOf"] = [{"required": schema.pop("required")}, {"required": [EXTENDS]}]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def write_schema(path: Path = SCHEMA_FILE) -> None:
    """Write the schema; equal models give equal bytes."""
    path.write_text(json.dumps(config_schema(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _without_folder(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_folder(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_folder(inner) for inner in value]
    if isinstance(value, str) and Path(value).is_relative_to(REPOSITORY):
        return Path(value).relative_to(REPOSITORY).as_posix()
    return value


if __name__ == "__main__":
    write_schema()
