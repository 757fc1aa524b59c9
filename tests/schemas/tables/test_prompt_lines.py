"""A shop's own prompts: what may be left out, what is refused, and that a refusal repeats nothing of the line."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from schemas.faults import first_fault
from schemas.tables.prompt_lines import PromptLine
from schemas.tasks import TASK_NAMES

LINE = {"task": "churn", "prompt": "Vai voltar?", "reference": {"churn": True}}
CPF = "529.982.247-25"


def read(text: str) -> PromptLine:
    """Read a line as `schemas.json_lines` does."""
    return PromptLine.model_validate_json(text, strict=True)


def refused(text: str) -> str:
    with pytest.raises(ValidationError) as caught:
        read(text)
    return first_fault(caught.value)


def test_three_keys_are_enough() -> None:
    left_out = dict.fromkeys(("system", "customer_id", "order_id", "review_id", "parent_id", "prompt_id"))
    assert read(json.dumps(LINE)).model_dump() == {**LINE, **left_out, "source": "own"}


def test_a_line_with_all_keys_is_read_as_it_is() -> None:
    origin = {"customer_id": "c1", "order_id": "o1", "review_id": "r1", "parent_id": "0" * 64, "prompt_id": "1" * 64}
    line = {**LINE, **origin, "system": "Responda.", "source": "loja-1_b"}
    assert read(json.dumps(line)).model_dump() == line


@pytest.mark.parametrize("task", TASK_NAMES)
def test_every_task_is_known_and_its_reference_is_looked_at_later(task: str) -> None:
    reference = {"other": [None, 0.5, {"ç": "é"}]}
    assert read(json.dumps({**LINE, "task": task, "reference": reference})).reference == reference


@pytest.mark.parametrize("name", ["system", "customer_id", "order_id", "review_id", "parent_id", "prompt_id"])
def test_null_is_as_good_as_left_out(name: str) -> None:
    assert read(json.dumps({**LINE, name: None})) == read(json.dumps(LINE))


@pytest.mark.parametrize("name", ["task", "prompt", "reference"])
def test_what_is_needed_is_named(name: str) -> None:
    assert refused(json.dumps({key: value for key, value in LINE.items() if key != name})) == f"{name} is missing"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"task": "poetry"}, "task: Input should be 'extraction'"),
        ({"task": None}, "task: Input should be 'extraction'"),
        ({"prompt": ""}, "prompt: String should have at least 1 character"),
        ({"prompt": None}, "prompt: Input should be a valid string"),
        ({"prompt": [CPF]}, "prompt: Input should be a valid string"),
        ({"reference": CPF}, "reference: Input should be"),
        ({"reference": [CPF]}, "reference: Input should be"),
        ({"reference": None}, "reference: Input should be"),
        ({"system": ""}, "system: String should have at least 1 character"),
        ({"source": ""}, "source: String should match"),
        ({"source": "Loja de Ana"}, "source: String should match"),
        ({"source": "a" * 41}, "source: String should match"),
        ({"source": "loja\n"}, "source: String should match"),
        ({"source": None}, "source: Input should be a valid string"),
        ({"customer_id": ""}, "customer_id: String should have at least 1 character"),
        ({"customer_id": 17}, "customer_id: Input should be a valid string"),
        ({"order_id": ""}, "order_id: String should have at least 1 character"),
        ({"review_id": ""}, "review_id: String should have at least 1 character"),
        ({"parent_id": 1}, "parent_id: Input should be a valid string"),
        ({"prompt_id": 1}, "prompt_id: Input should be a valid string"),
        ({"answer": CPF}, "answer: Extra inputs are not permitted"),
        ({CPF: "x"}, "(a key): Extra inputs are not permitted"),
    ],
)
def test_each_rule_is_reported_without_the_words_of_the_line(values: dict[str, Any], said: str) -> None:
    reported = refused(json.dumps({**LINE, **values}))
    assert reported.startswith(said)
    assert CPF not in reported
    assert "Ana" not in reported


@pytest.mark.parametrize(
    "reference",
    ['{"x": NaN}', '{"x": -Infinity}', '{"x": [1e999]}', '{"x": {"y": NaN}}', '{"\\ud800": 1}', '{"x": "\\ud800"}'],
)
def test_a_reference_that_has_no_identity_is_refused(reference: str) -> None:
    reported = refused(f'{{"task": "churn", "prompt": "Vai voltar?", "reference": {reference}}}')
    assert reported.startswith(("reference: must be JSON with finite numbers and whole characters", "Invalid JSON"))


def test_what_is_no_object_is_refused() -> None:
    assert refused('["Vai voltar?"]').startswith("Input should be an object")
    assert "Vai voltar" not in refused('{"task": "churn", "prompt": "Vai voltar?"')


def test_a_line_that_was_read_stays_as_it_is() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        read(json.dumps(LINE)).prompt = "outra"  # type: ignore[misc]
