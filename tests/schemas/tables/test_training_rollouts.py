"""The table of the rollouts that a policy was trained on: what fits, and what does not."""

from typing import Any

import polars as pl
import pytest

from schemas.errors import InputError
from schemas.tables.table_check import validate_table
from schemas.tables.training_rollouts import TrainingRollouts

ROW: dict[str, Any] = {
    "prompt_id": "a" * 64,
    "task": "push",
    "step": 1,
    "seed": 0,
    "completion": "",
    "components": '{"short": 1.0}',
    "reward": 0.5,
    "advantage": -0.25,
    "tokens": 3,
    "stop_reason": "token_limit",
    "corrected": False,
}


def _check(**changed: Any) -> None:
    table = pl.DataFrame([ROW, {**ROW, **changed}])
    validate_table(table, TrainingRollouts, "rollouts")


def test_a_group_of_completions_fits() -> None:
    _check(completion="outra", stop_reason="end_of_turn", reward=1.0, advantage=0.25)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"prompt_id": "push-1"}, "row 2: prompt_id fails"),
        ({"task": "sentiment"}, "row 2: not true: one task for each prompt id"),
        ({"step": 0}, "row 2: step fails"),
        ({"completion": None}, "row 2: completion is empty"),
        ({"components": "short"}, "row 2: components fails"),
        ({"reward": 1.5}, "row 2: reward fails"),
        ({"stop_reason": "tired"}, "row 2: stop_reason fails"),
    ],
)
def test_what_does_not_fit_is_named_by_its_row_and_column(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        _check(**changed)
