"""The trainer packs its update: old and new log-probabilities alike, and whole groups in a pass."""

from pathlib import Path
from typing import Any

import pytest

from tests.tasks.train.small_training import small_trainer

pytestmark = pytest.mark.slow

LEARNS: dict[str, Any] = {"guided_correction": {"share": 1.0}, "max_completion_tokens": 96}


@pytest.mark.parametrize(
    "recipe",
    [
        {"entropy": {"coefficient": 0.01}, "guided": "forms"},
        {"beta": 0.05, "iterations": 2, "max_steps": 2, "load_in_4bit": True, "accumulation": 4},
        {"gradient_checkpointing": "torch"},
    ],
    ids=lambda recipe: next(iter(recipe)),
)
def test_a_step_has_the_loss_and_the_gradient_of_the_stock_update(tmp_path: Path, recipe: dict[str, Any]) -> None:
    figures = []
    for stock in (False, True):
        trainer = small_trainer(tmp_path / str(stock), **{**LEARNS, "max_steps": 1, **recipe}, stock_update=stock)
        assert trainer._packed.is_on is not stock
        trainer.train()
        entries = [entry for entry in trainer.state.log_history if "grad_norm" in entry]
        figures.append([[entry[name] for entry in entries] for name in ("loss", "grad_norm", "entropy")])
    ours, stock_figures = figures
    assert ours[1][0] > 0
    for one, other in zip(ours, stock_figures, strict=True):
        assert one == pytest.approx(other, rel=1e-4, abs=1e-6)
