"""One training step that leaves no trace: what it moves and what it takes, known before the first real one."""

import copy
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import torch

COUNTED: Final = (
    "state",
    "_step",
    "_metrics",
    "_logs",
    "_buffered_inputs",
    "_current_train_step_time",
    "entropy_coef",
    "_last_world_entropy",
    "_entropy_window_stats",
)
"""What TRL's trainers keep of the steps that they took."""


@dataclass(frozen=True)
class Rehearsal:
    """What a training step did."""

    loss: float
    gradient_norm: float
    """Norm of all gradients together, before any clipping."""
    moved: frozenset[str]
    """Names of the parameters that the step changed."""
    seconds: float
    peak_bytes: int | None
    """Peak of the GPU's memory; None without one."""

    @property
    def finite(self) -> bool:
        """Return whether loss and gradients are numbers."""
        return torch.isfinite(torch.tensor([self.loss, self.gradient_norm])).all().item() is True


def rehearse(trainer: Any, learning_rate: float) -> Rehearsal:
    """Take one optimizer step on the trainer's next batch, and put everything back as it was.

    Args:
        trainer: A trainer of TRL that has not begun to train.
        learning_rate: Of the step. It is taken by an optimizer of its own, at the full rate: after the first step of a
            warm-up nothing would have moved.
    """
    on_gpu = torch.cuda.is_available()
    with unchanged(trainer):
        batch = next(iter(trainer.get_train_dataloader()))
        # On the host, where the copies are no part of the peak that is measured.
        before = {name: parameter.detach().to("cpu", copy=True) for name, parameter in trainer.model.named_parameters()}
        optimizer = torch.optim.AdamW(
            [parameter for parameter in trainer.model.parameters() if parameter.requires_grad], lr=learning_rate
        )
        if on_gpu:
            torch.cuda.reset_peak_memory_stats()
        started = time.perf_counter()
        trainer.model.train()
        loss = trainer.training_step(trainer.model, batch, None)
        gradients = [parameter.grad for parameter in trainer.model.parameters() if parameter.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients) if gradients else torch.tensor(0.0)
        optimizer.step()
        optimizer.zero_grad()
        seconds = time.perf_counter() - started
        peak = torch.cuda.max_memory_allocated() if on_gpu else None
        moved = frozenset(
            name
            for name, parameter in trainer.model.named_parameters()
            if not torch.equal(before[name], parameter.detach().cpu())
        )
        with torch.no_grad():
            for name, parameter in trainer.model.named_parameters():
                if name in moved:
                    parameter.copy_(before[name])
    return Rehearsal(float(loss), float(norm), moved, seconds, peak)


@contextmanager
def unchanged(trainer: Any) -> Iterator[None]:
    """Put back, after the block, the random state and what the trainer counts, measures and has drawn."""
    devices = [trainer.accelerator.device] if trainer.accelerator.device.type == "cuda" else []
    counted = {name: copy.deepcopy(trainer.__dict__[name]) for name in COUNTED if name in trainer.__dict__}
    parts = trainer.state_dict() if hasattr(trainer, "state_dict") else None
    training = trainer.model.training
    with torch.random.fork_rng(devices=devices):
        try:
            yield
        finally:
            trainer.__dict__.update(counted)
            trainer.model.train(training)
            if parts is not None:
                trainer.load_state_dict(parts)
