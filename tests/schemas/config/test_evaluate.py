"""Rivals in a profile: what each may set, and the one sentence on what it may not."""

import pytest
from pydantic import ValidationError

from schemas.config.evaluate import FLOORS, EvaluateConfig, RivalConfig
from schemas.config.profiles import load_config
from schemas.errors import InputError

ENDPOINT = 'url = "http://127.0.0.1:9/v1", model = "m"'


def rivals(*tables: str) -> tuple[RivalConfig, ...]:
    return load_config(
        "local", [f"evaluate.rivals=[{', '.join(f'{{ {table} }}' for table in tables)}]"]
    ).evaluate.rivals


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ([f'name = "large", {ENDPOINT}'] * 2, "two rivals are named large; give each a name of its own"),
        (
            [f'name = "large", body = {{ temperature = 1, stream = true }}, {ENDPOINT}'],
            "body sets stream, temperature, which every request has already; leave it out, and set model or ",
        ),
    ],
)
def test_an_invalid_rival_is_refused_in_a_sentence(tables: list[str], said: str) -> None:
    with pytest.raises(InputError) as caught:
        rivals(*tables)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_floor_that_is_given_replaces_its_task_alone_and_an_unknown_metric_is_named() -> None:
    config = EvaluateConfig.model_validate({"floors": {"churn": {"auc": 0.7}, "push": {}}})
    assert config.floors == {**FLOORS, "churn": {"auc": 0.7}, "push": {}}
    with pytest.raises(ValidationError, match="churn has no floor of accuracy; it has auc"):
        EvaluateConfig.model_validate({"floors": {"churn": {"accuracy": 0.7}}})
