import tomllib
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest

from schemas.config.json_schema import SCHEMA_FILE, config_schema, write_schema
from schemas.config.profiles import PROFILES_FOLDER

PROFILES = sorted(PROFILES_FOLDER.glob("*.toml"))


def test_the_file_is_what_the_configuration_says(tmp_path: Path) -> None:
    write_schema(tmp_path / "schema.json")
    assert SCHEMA_FILE.read_bytes() == (tmp_path / "schema.json").read_bytes(), (
        "run python -m schemas.config.json_schema"
    )


@pytest.mark.parametrize("profile", PROFILES, ids=lambda path: path.stem)
def test_an_editor_finds_the_schema_and_nothing_wrong_with_a_profile(profile: Path) -> None:
    first, rest = profile.read_text(encoding="utf-8").split("\n", 1)
    assert (profile.parent / first.removeprefix("#:schema ")).resolve() == SCHEMA_FILE
    jsonschema.validate(tomllib.loads(rest), config_schema())
