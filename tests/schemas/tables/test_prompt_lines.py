"""A shop's own prompts: what may be left out, what is refused, and that a refusal repeats nothing of the line."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from schemas.faults import first_fault
from schemas.tables.prompt_lines import PromptLine

LINE = {"task": "churn", "prompt": "Vai voltar?", "reference": {"churn": True}}
CPF = "529.982.247-25"


def read(text: str) -> PromptLine:
    """Read a line as `schemas.json_lines` does."""
    return PromptLine.model_validate_json(text, strict=True)


def refused(text: str) -> str:
    with pytest.raises(ValidationError) as caught:
        read(text)
    return first_fault(caught.value)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"task": "poetry"}, "task: Input should be 'extraction'"),
        ({"prompt": ""}, "prompt: String should have at least 1 character"),
        ({"prompt": [CPF]}, "prompt: Input should be a valid string"),
        ({"reference": CPF}, "reference: Input should be"),
        ({"system": ""}, "system: String should have at least 1 character"),
        ({"source": "Loja de Ana"}, "source: String should match"),
        ({"source": "loja\n"}, "source: String should match"),
        ({"customer_id": ""}, "customer_id: String should have at least 1 character"),
        ({"customer_id": 17}, "customer_id: Input should be a valid string"),
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
