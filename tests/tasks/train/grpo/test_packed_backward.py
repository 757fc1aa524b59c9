"""Where memory is too small for the gradients of a packed row, they are those of the plain update."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from tasks.train.grpo.packed import PackedRow, log_plain_update
from tasks.train.grpo.packed_update import PackedUpdate
from tests.tasks.train.grpo.test_packed import batch, model_of, packed_scores, plain_scores, trainer_of
from tests.tasks.train.small_training import adapter_weights, small_trainer

pytestmark = pytest.mark.slow

FULL = torch.OutOfMemoryError("CUDA out of memory")
FULL_ON_CPU = RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes")
TWO_PASSES: dict[str, Any] = {
    "accumulation": 2,
    "max_steps": 2,
    "guided_correction": {"share": 1.0},
    "max_completion_tokens": 96,
    "entropy": {"coefficient": 0.01},
}


@contextmanager
def failing_backward(fails: Callable[[], Exception | None]) -> Iterator[None]:
    """Raise an error in the backward pass of a packed row's first attention, behind which lie all other layers."""
    real = PackedRow.attend

    def attend(row: PackedRow, module: Any, *given: Any, **named: Any) -> torch.Tensor:
        mean = real(row, module, *given, **named)
        if mean.requires_grad and module.layer_idx == 0:
            mean.register_hook(check)  # type: ignore[no-untyped-call]
        return mean

    def check(_: torch.Tensor) -> None:
        if (error := fails()) is not None:
            raise error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PackedRow, "attend", attend)
        yield


def gradients_of(model: Any) -> dict[str, torch.Tensor]:
    return {name: each.grad.clone() for name, each in model.named_parameters() if each.grad is not None}


def learn(found: Any, given: tuple[torch.Tensor, torch.Tensor, int]) -> None:
    """Add the gradients of a sum of log-probabilities and entropies, with weights that do not depend on them."""
    mask = given[1][:, -given[2] :]
    weights = torch.randn(mask.shape, generator=torch.Generator().manual_seed(2)) * mask
    ((found[0] + 0.3 * found[1]) * weights).sum().backward()


@pytest.mark.parametrize("error", [FULL, FULL_ON_CPU])
@pytest.mark.parametrize("recomputed", [False, True])
def test_a_pass_that_fails_leaves_the_gradients_of_the_plain_one_beside_those_of_earlier_passes(
    error: Exception, recomputed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    log_plain_update.cache_clear()
    model, given = model_of("Qwen3").train(), batch()
    if recomputed:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    trainer = trainer_of(model)
    update = PackedUpdate(trainer, wanted=True)
    learn(packed_scores(update, model, given), given)
    of_first = gradients_of(model)
    learn(plain_scores(trainer, model, given), given)
    expected = gradients_of(model)

    for name, each in model.named_parameters():
        each.grad = of_first[name].clone()
    with caplog.at_level(logging.WARNING), failing_backward(lambda: error):
        found = packed_scores(update, model, given)
        assert update.is_on
        learn(found, given)
        assert not update.is_on
        assert packed_scores(update, model, given) is None
    assert all(torch.equal(gradient, expected[name]) for name, gradient in gradients_of(model).items())
    assert len([line for line in caplog.messages if "memory is too small" in line]) == 1


def test_any_other_error_and_lack_of_memory_for_the_plain_gradients_too_are_raised() -> None:
    model, given = model_of("Qwen3"), batch()
    with failing_backward(ZeroDivisionError), pytest.raises(ZeroDivisionError):
        learn(packed_scores(PackedUpdate(trainer_of(model), wanted=True), model, given), given)

    def full(_: Any) -> Any:
        raise FULL

    update = PackedUpdate(trainer_of(model), wanted=True)
    with failing_backward(lambda: FULL), pytest.raises(torch.OutOfMemoryError):
        learn(update.scores(model, *given, compute_entropy=True, plain=full), given)
    assert not gradients_of(model)


def test_a_training_whose_second_pass_fails_goes_on_as_the_stock_update_does(tmp_path: Path) -> None:
    calls = iter([None, FULL])
    trained = {}
    for stock in (False, True):
        trainer = small_trainer(tmp_path / str(stock), **TWO_PASSES, stock_update=stock)
        with failing_backward(lambda: next(calls)):
            trainer.train()
        trained[stock] = trainer
    assert next(calls, "all of them were made") == "all of them were made"
    assert not trained[False]._packed.is_on
    assert trained[False].state_dict()["packed"] is False
    names = ("loss", "grad_norm", "entropy", "kl", "clip_ratio/region_mean", "completions/mean_length")
    ours, others = (
        [[entry[name] for name in names] for entry in trainer.state.log_history if "grad_norm" in entry]
        for trainer in trained.values()
    )
    assert len(ours) == len(others) == 2
    assert ours[0][1] > 0
    for one, other in zip(ours, others, strict=True):
        assert one == pytest.approx(other, rel=1e-3, abs=1e-5)
    weights = adapter_weights(trained[True])
    for name, weight in adapter_weights(trained[False]).items():
        assert torch.allclose(weight, weights[name], atol=1e-3), name
