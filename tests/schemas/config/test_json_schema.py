import copy
import tomllib
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from schemas.config.json_schema import SCHEMA_FILE, config_schema, write_schema
from schemas.config.profiles import PROFILES_FOLDER
from schemas.source import REPOSITORY

PROFILES = sorted(PROFILES_FOLDER.glob("*.toml"))


def test_the_file_is_what_the_configuration_says(tmp_path: Path) -> None:
    write_schema(tmp_path / "schema.json")
    assert SCHEMA_FILE.read_bytes() == (tmp_path / "schema.json").read_bytes(), (
        "run python -m schemas.config.json_schema"
    )


def test_no_folder_of_a_machine_is_in_it() -> None:
    assert str(REPOSITORY).encode() not in SCHEMA_FILE.read_bytes()


def test_every_field_is_described() -> None:
    schema = config_schema()
    sections = {"Config": schema, **schema["$defs"]}
    bare = [
        f"{section}.{field}"
        for section, declared in sections.items()
        for field, described in declared.get("properties", {}).items()
        if not described.get("description")
    ]
    assert bare == []


@pytest.mark.parametrize("profile", PROFILES, ids=lambda path: path.stem)
def test_an_editor_finds_the_schema_and_nothing_wrong_with_a_profile(profile: Path) -> None:
    first, rest = profile.read_text(encoding="utf-8").split("\n", 1)
    assert (profile.parent / first.removeprefix("#:schema ")).resolve() == SCHEMA_FILE
    jsonschema.validate(tomllib.loads(rest), config_schema())


@pytest.mark.parametrize(
    ("section", "field", "value"),
    [("train", "max_stepz", 1), ("audit", "min_rho", 2), ("synthesize", "source", "elsewhere"), ("seed", None, -1)],
)
def test_an_editor_tells_what_is_no_configuration(section: str, field: str | None, value: object) -> None:
    document: dict[str, Any] = tomllib.loads((PROFILES_FOLDER / "local.toml").read_text(encoding="utf-8"))
    broken = copy.deepcopy(document)
    if field is None:
        broken[section] = value
    else:
        broken.setdefault(section, {})[field] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, config_schema())
