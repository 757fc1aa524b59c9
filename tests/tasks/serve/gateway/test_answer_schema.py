"""Schemas that a task's answers satisfy are granted, and no other; a validator says so of extreme answers."""

from collections.abc import Iterator
from typing import Any, Literal

import jsonschema  # type: ignore[import-untyped]
import pytest
from pydantic import BaseModel, Field

from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.registry import TASKS
from tasks.serve.gateway.answer_schema import MAX_STEPS, is_granted
from tests.cases import cases_of

CASES = cases_of(__file__)
SCHEMAS = {task: schema for task in TASK_NAMES if (schema := TASKS[task].schema) is not None}


class Review(BaseModel):
    """As a shop's programmer writes it."""

    polarity: Literal["positive", "negative", "neutral"] = Field(description="the mood")
    score: int = Field(ge=1, le=5)


def test_a_schema_that_every_answer_satisfies_is_granted() -> None:
    for wanted in (*CASES["GRANTED"], Review.model_json_schema()):
        assert is_granted(SCHEMAS["sentiment"], wanted), wanted
        for answer in _answers("sentiment"):
            jsonschema.validate(answer, wanted)


def test_a_schema_that_is_not_sure_to_be_satisfied_is_not_granted() -> None:
    not_a_number = {"properties": {"score": {"minimum": float("nan")}}}
    for wanted in (*CASES["NOT_GRANTED"], not_a_number):
        assert not is_granted(SCHEMAS["sentiment"], wanted), wanted


@pytest.mark.parametrize("task", SCHEMAS)
def test_each_field_of_each_task_is_granted_as_it_is_and_not_narrower(task: TaskName) -> None:
    schema, answers = SCHEMAS[task], list(_answers(task))
    assert is_granted(schema, schema)
    for name, field in schema["properties"].items():
        values = [answer[name] for answer in answers]
        for narrower in (
            {"type": "null"},
            {"enum": [value for value in values if value != values[0]]},
            {"maximum": field["maximum"] - 0.01} if "maximum" in field else {"type": "array"},
            {"maxLength": field["maxLength"] - 1} if "maxLength" in field else {"const": values[1]},
        ):
            assert not is_granted(schema, {"properties": {name: narrower}}), (name, narrower)
            assert any(_refuses(narrower, value) for value in values), (name, narrower)


@pytest.mark.parametrize("branches", (1, 2))
def test_a_schema_that_refers_in_a_chain_takes_no_time(branches: int) -> None:
    chain = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * branches} for n in range(2 * MAX_STEPS)}
    assert not is_granted(SCHEMAS["sentiment"], {"$ref": "#/$defs/d0", "$defs": chain})


def _refuses(schema: dict[str, Any], value: object) -> bool:
    return not jsonschema.Draft202012Validator(schema).is_valid(value)


def _answers(task: TaskName) -> Iterator[dict[str, Any]]:
    """Yield answers of the extreme values of each field."""
    for number in range(12):
        answer: dict[str, Any] = {}
        for name, field in SCHEMAS[task]["properties"].items():
            bounds = [field.get("minimum"), field.get("maximum"), 3]
            texts = ["a", "a" * field.get("maxLength", 0)] + [""] * field.get("pattern", "").endswith("?$")
            of_type = {"boolean": [False, True], "integer": bounds, "number": [0, 1, 0.5], "string": texts}
            values = field.get("enum") or of_type[field["type"]]
            answer[name] = values[number % len(values)]
        yield answer
