"""What Prefect's form of the main job shows."""

from typing import Any

import pytest
from prefect.utilities.callables import parameter_schema

from flows.retrain import retrain
from schemas.config.config import Config


@pytest.fixture(scope="module")
def form() -> dict[str, Any]:
    return parameter_schema(retrain).model_dump()


def test_the_form_has_every_section_with_what_it_is_for(form: dict[str, Any]) -> None:
    config = form["definitions"]["Config"]["properties"]
    assert list(config) == list(Config.model_fields)
    assert all(field["description"] for field in config.values())


def test_the_form_says_of_every_field_what_it_is(form: dict[str, Any]) -> None:
    fields = {
        f"{section}.{name}": field.get("description")
        for section, declared in form["definitions"].items()
        for name, field in declared.get("properties", {}).items()
    }
    assert "TrainConfig.max_steps" in fields
    assert [name for name, description in fields.items() if not description] == []
