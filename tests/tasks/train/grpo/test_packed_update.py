"""The trainer packs its update: old and new log-probabilities alike, and whole groups in a pass."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tasks.train.backend.cpu import token_scores
from tasks.train.grpo.packed import PackedUpdate
from tests.tasks.train.grpo.test_packed import assert_equal, batch, learned, model_of
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


def test_trls_fused_head_scores_the_row_as_plain_torch_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU, where its kernel is Triton's; here the kernel's place is taken by a product."""
    from trl.trainer import utils

    def apply(hidden: Any, weight: Any, bias: Any, labels: Any, temperature: float, *_: Any) -> Any:
        found, entropy = token_scores(hidden @ weight.T, labels, temperature, compute_entropy=True, learn_entropy=True)
        return found, entropy, None, None, None

    monkeypatch.setattr(utils, "_ChunkedLogProbFunction", SimpleNamespace(apply=apply))
    model, given = model_of("Qwen3"), batch()
    whole = learned(model, given, packed=True)
    utils.add_fused_lm_head(model, temperature=0.7, outputs=("log_probs", "entropy"))
    monkeypatch.setattr(PackedUpdate, "__init__", _fused(PackedUpdate.__init__))
    assert_equal(whole, learned(model, given, packed=True))


def _fused(prepare: Any) -> Any:
    def prepare_fused(update: Any, *given: Any, **named: Any) -> None:
        prepare(update, *given, **named)
        update.fused = True

    return prepare_fused
