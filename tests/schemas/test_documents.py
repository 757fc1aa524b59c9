from typing import Any

import pytest
from pydantic import ValidationError

from schemas.documents import PairedScore, Rollout
from schemas.references import REFERENCES
from schemas.tasks import TASK_NAMES, TaskName

SHAPES: dict[TaskName, dict[str, Any]] = {
    "extraction": {"rating": 2, "fields": {"sentiment": "negative", "churn_risk": 0.8, "delivery_issue": True}},
    "sql_qa": {"sql": "SELECT COUNT(*) FROM orders"},
    "insights": {"facts": ["SP: receita de R$ 10", 4, 4.5]},
    "push": {"product": "brinquedos", "offer": "frete grátis"},
    "sentiment": {"polarity": "neutral", "score": 3},
    "churn": {"churn": False},
}


def rollout(task: TaskName, reference: Any) -> Rollout:
    return Rollout(prompt_id="p", task=task, prompt="", completion="", reference=reference)


def test_every_task_has_a_shape() -> None:
    assert set(REFERENCES) == set(TASK_NAMES) == set(SHAPES)


@pytest.mark.parametrize("task", TASK_NAMES)
def test_a_reference_of_the_right_shape_is_kept_as_it_is(task: TaskName) -> None:
    assert rollout(task, SHAPES[task]).reference == SHAPES[task]
    assert rollout(task, None).reference is None
    assert rollout(task, SHAPES[task] | {"note": "kept"}).reference == SHAPES[task] | {"note": "kept"}
    assert rollout(task, dict.fromkeys(SHAPES[task])).reference == dict.fromkeys(SHAPES[task])


@pytest.mark.parametrize("task", TASK_NAMES)
def test_a_reference_without_one_of_its_keys_is_refused(task: TaskName) -> None:
    for key in SHAPES[task]:
        with pytest.raises(ValidationError, match=f"reference of {task}: {key} is missing"):
            rollout(task, {name: value for name, value in SHAPES[task].items() if name != key})


@pytest.mark.parametrize(
    ("task", "change"),
    [
        ("extraction", {"rating": 6}),
        ("extraction", {"rating": True}),
        ("extraction", {"fields": {"sentiment": "feliz"}}),
        ("extraction", {"fields": {"delivery_isue": True}}),
        ("extraction", {"fields": []}),
        ("sql_qa", {"sql": 3}),
        ("insights", {"facts": [float("nan")]}),
        ("sentiment", {"score": 0.2}),
        ("churn", {"churn": 1}),
    ],
)
def test_a_reference_with_a_wrong_value_is_refused(task: TaskName, change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=f"reference of {task}: {next(iter(change))}"):
        rollout(task, SHAPES[task] | change)


def test_no_message_repeats_a_text() -> None:
    secret = "meu CPF é 123.456.789-09 e moro na rua das Flores"
    with pytest.raises(ValidationError) as refused:
        rollout("extraction", {"rating": None, "fields": {"sentiment": secret}})
    assert secret not in refused.value.errors(include_url=False, include_input=False)[0]["msg"]


@pytest.mark.parametrize("value", ["true", '"1"', "NaN", "1.001", "-0.001", "Infinity"])
@pytest.mark.parametrize("field", ["score", "truth"])
def test_a_paired_score_is_a_number_between_0_and_1(field: str, value: str) -> None:
    known = {"prompt_id": '"p"', "task": '"push"', "seed": "1", "sample": "0", "score": "1", field: value}
    line = "{" + ",".join(f'"{name}":{text}' for name, text in known.items()) + "}"
    with pytest.raises(ValidationError, match=f"1 validation error for PairedScore\n{field}"):
        PairedScore.model_validate_json(line, strict=True)
