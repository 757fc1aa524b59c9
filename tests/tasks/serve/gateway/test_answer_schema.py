"""Schemas that a task's answers satisfy are granted, and no other: compared with a validator on drawn answers."""

import random
from collections.abc import Iterator
from typing import Any, Literal, get_args

import jsonschema  # type: ignore[import-untyped]
import pytest
from pydantic import BaseModel, Field

from schemas.tasks import TASK_NAMES
from tasks.commerce.registry import TASKS
from tasks.serve.gateway.answer_schema import MAX_STEPS, first_unmet

SCHEMAS = {task: schema for task in TASK_NAMES if (schema := TASKS[task].schema) is not None}
JSON_TASKS = tuple(SCHEMAS)
POLARITY = {"enum": ["negative", "neutral", "positive"]}


class Review(BaseModel):
    """As a shop's programmer writes it."""

    polarity: Literal["positive", "negative", "neutral"] = Field(description="the mood")
    score: int = Field(ge=1, le=5)


def _fields(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"polarity": {}, "score": {}} | fields, "required": ["score"]}


GRANTED: list[Any] = [
    {},
    {"type": ["object", "null"], "title": "a", "$schema": "https://json-schema.org/draft/2020-12/schema"},
    Review.model_json_schema(),
    *(SCHEMAS[task] for task in JSON_TASKS if task == "sentiment"),
    _fields(polarity={"anyOf": [{"type": "null"}, {"type": "string"}]}),
    _fields(score={"enum": [0, 1, 2, 3, 4, 5]}, additional={"type": "string"}),
    _fields(score={"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 5.5}),
    _fields(score={"allOf": [{"minimum": 1}, {"maximum": 5}]}, polarity={"minimum": 9}),
    {"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"polarity": {"$ref": "#/$defs/b"}}}, "b": POLARITY}},
    {"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "object"}}},
    {"properties": {"polarity": True}, "additionalProperties": {"type": "integer"}},
]
NOT_GRANTED: list[Any] = [
    False,
    {"type": "object", "additionalProperties": False},
    {"properties": {"score": {}}, "additionalProperties": {"type": "integer"}},
    _fields() | {"required": ["score", "reason"]},
    _fields() | {"not": {"required": ["score"]}},
    _fields() | {"Ana 529.982.247-25": 1},
    _fields(polarity={"enum": ["negative", "positive"]}),
    _fields(polarity={"maxLength": 8}),
    _fields(polarity={"pattern": "^[a-z]+$"}),
    _fields(score={"enum": [True, 2, 3, 4, 5]}),
    _fields(score={"minimum": 2}),
    _fields(score={"exclusiveMinimum": 1}),
    _fields(score={"minimum": float("nan")}),
    _fields(score={"anyOf": [{"type": "string"}, {"maximum": 4}]}),
    _fields(score={"anyOf": []}),
    {"$ref": "#"},
    {"$ref": "#/$defs/a~01", "$defs": {"a/": {}}},
    {"AnaSilva529": 1},
    {"$ref": "https://example.org/schema.json"},
]


def test_a_schema_that_every_answer_satisfies_is_granted() -> None:
    for wanted in GRANTED:
        assert first_unmet(SCHEMAS["sentiment"], wanted) is None, wanted
        for answer in _answers("sentiment"):
            jsonschema.validate(answer, wanted)


def test_a_schema_that_is_not_sure_to_be_satisfied_is_not_granted() -> None:
    for wanted in NOT_GRANTED:
        place = first_unmet(SCHEMAS["sentiment"], wanted)
        assert place is not None, wanted
        assert "529" not in place
        assert "Ana" not in place


@pytest.mark.parametrize("task", JSON_TASKS)
def test_no_schema_is_granted_that_an_answer_does_not_satisfy(task: Any) -> None:
    assert first_unmet(SCHEMAS[task], SCHEMAS[task]) is None
    generator = random.Random(7)
    answers = list(_answers(task))
    granted = 0
    for _ in range(400):
        wanted = _drawn(generator, SCHEMAS[task]["properties"])
        if first_unmet(SCHEMAS[task], wanted) is None:
            granted += 1
            for answer in answers:
                jsonschema.validate(answer, wanted)
    assert granted > 10


@pytest.mark.parametrize("branches", (1, 2))
def test_a_schema_that_refers_in_a_chain_takes_no_time(branches: int) -> None:
    chain = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * branches} for n in range(2 * MAX_STEPS)}
    place = first_unmet(SCHEMAS["sentiment"], {"$ref": "#/$defs/d0", "$defs": chain})
    assert place is not None
    assert len(place) < 150


def _answers(task: Any) -> Iterator[dict[str, Any]]:
    """Yield answers of the extreme values of each field."""
    fields = SCHEMAS[task]["properties"]
    for number in range(12):
        answer: dict[str, Any] = {}
        for name, field in fields.items():
            values = (
                field.get("enum")
                or {
                    "boolean": [False, True],
                    "integer": [field.get("minimum"), field.get("maximum"), 3],
                    "number": [0, 1, 0.5],
                    "string": [
                        "a",
                        "a" * field.get("maxLength", 0),
                        *([""] if field.get("pattern", "").endswith("?$") else []),
                    ],
                }[field["type"]]
            )
            answer[name] = values[number % len(values)]
        yield answer


def _drawn(generator: random.Random, fields: dict[str, Any]) -> dict[str, Any]:
    """Return a schema whose keywords and values are drawn around those of the fields."""
    kinds: tuple[str, ...] = get_args(Literal["string", "integer", "number", "boolean", "null"])

    def of_field(field: dict[str, Any]) -> dict[str, Any]:
        every: dict[str, Any] = {
            "type": generator.choice([generator.choice(kinds), list(kinds[:3]), list(kinds[1:])]),
            "enum": generator.sample([*field.get("enum", ()), *range(7), False, True, 0.5], 6),
            "minimum": generator.choice([0, 1, 0.5]),
            "maximum": generator.choice([1, 5, 4.5]),
            "maxLength": generator.choice([7, 8, 100, 300]),
            "exclusiveMaximum": generator.choice([1, 5.5, 6]),
        }
        chosen = {name: every[name] for name in generator.sample(sorted(every), generator.choice([0, 0, 1, 1, 2]))}
        return {"anyOf": [chosen, of_field(field)]} if generator.random() < 0.2 else chosen

    named = {name: of_field(field) for name, field in fields.items() if generator.random() < 0.5}
    return {"properties": named, "additionalProperties": generator.choice([True, {"type": list(kinds)}])}
