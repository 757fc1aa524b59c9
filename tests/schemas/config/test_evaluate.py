"""Rivals and floors in a profile."""

import pytest
from pydantic import ValidationError

from schemas.config.evaluate import FLOORS, EvaluateConfig
from schemas.config.profiles import load_config
from schemas.errors import InputError

RIVAL = '{ name = "large", url = "http://127.0.0.1:9/v1", model = "m" }'


def test_two_rivals_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="two rivals are named large; give each a name of its own"):
        load_config("local", [f"evaluate.rivals=[{RIVAL}, {RIVAL}]"])


def test_a_floor_that_is_given_replaces_its_task_alone_and_an_unknown_metric_is_named() -> None:
    config = EvaluateConfig.model_validate({"floors": {"churn": {"auc": 0.7}, "push": {}}})
    assert config.floors == {**FLOORS, "churn": {"auc": 0.7}, "push": {}}
    with pytest.raises(ValidationError, match="churn has no floor of accuracy; it has auc"):
        EvaluateConfig.model_validate({"floors": {"churn": {"accuracy": 0.7}}})
