"""The Trainer's own state: what is drawn and stepped after a resume is what would have been."""

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.optim.lr_scheduler import LambdaLR, LRScheduler
from transformers import TrainerState, get_scheduler

from tasks.train.resume.resumable import OPTIMIZER, ResumableTrainer, copied_to_cpu, random_state, set_random_state
from tasks.train.resume.state_files import TRAINER_STATE_FILE, read_state, write_state


def _draw() -> list[Any]:
    """Draw from every global generator, also an odd number of normal values: one is left over for the next."""
    return [
        random.random(),
        random.gauss(0, 1),
        float(np.random.rand()),
        float(np.random.randn()),
        torch.rand(3).tolist(),
        torch.randn(3).tolist(),
    ]


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), draws=st.integers(0, 3))
def test_every_generator_resumes_from_where_it_stood(seed: int, draws: int) -> None:
    import tempfile

    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    for _ in range(draws):
        _draw()
    with tempfile.TemporaryDirectory() as home:
        write_state(Path(home), "random", random_state())
        wanted = [_draw(), _draw()]
        set_random_state(read_state(Path(home), "random"))
    assert [_draw(), _draw()] == wanted


class Stepping(ResumableTrainer):
    """The part of a Trainer that steps."""

    def __init__(self, optimizer: type[torch.optim.Optimizer], **settings: Any) -> None:
        torch.manual_seed(1)
        self.model = torch.nn.Linear(3, 2)
        own, other = self.model.parameters()
        # Two groups, as a Trainer makes for weight decay.
        groups = [{"params": [own], "weight_decay": 0.1}, {"params": [other], "weight_decay": 0.0}]
        self.optimizer = optimizer(groups, lr=0.1, **settings)  # type: ignore[call-arg]
        self.lr_scheduler: LRScheduler = get_scheduler("cosine", self.optimizer, 2, 12)
        self.state = TrainerState()

    def step(self) -> None:
        self.optimizer.zero_grad()
        self.model(torch.tensor([[1.0, 2.0, 3.0]])).square().sum().backward()
        self.optimizer.step()
        self.lr_scheduler.step()


@pytest.mark.parametrize(
    ("optimizer", "settings"),
    [(torch.optim.AdamW, {"betas": (0.8, 0.95)}), (torch.optim.AdamW, {"amsgrad": True}), (torch.optim.SGD, {})],
)
@pytest.mark.parametrize("steps", [0, 1, 4])
def test_optimizer_and_scheduler_resume_from_where_they_stood(
    optimizer: type[torch.optim.Optimizer], settings: dict[str, Any], steps: int, tmp_path: Path
) -> None:
    whole = Stepping(optimizer, **settings)
    for _ in range(steps):
        whole.step()
    state, weights = whole.optimizer_state(), copied_to_cpu(whole.model.state_dict())
    for _ in range(3):
        whole.step()
    # Written when the optimizer has moved on already.
    write_state(tmp_path, OPTIMIZER, state)

    resumed = Stepping(optimizer, **settings)
    resumed.model.load_state_dict(weights)
    resumed._load_optimizer_and_scheduler(str(tmp_path))
    for _ in range(3):
        resumed.step()
    for name, values in whole.model.state_dict().items():
        assert torch.equal(resumed.model.state_dict()[name], values)
    assert resumed.lr_scheduler.get_last_lr() == whole.lr_scheduler.get_last_lr()
    assert isinstance(resumed.lr_scheduler, LambdaLR)


def test_the_trainers_state_is_read_by_transformers_and_does_not_change_with_what_is_logged_later(
    tmp_path: Path,
) -> None:
    import json

    trainer: Any = SimpleNamespace(state=TrainerState(global_step=3, epoch=1.5, log_history=[{"loss": 0.5, "step": 3}]))
    taken = ResumableTrainer.trainer_state(trainer)
    trainer.state.log_history.append({"loss": 0.25, "step": 4})
    (tmp_path / TRAINER_STATE_FILE).write_text(json.dumps(taken), encoding="utf-8")
    found = TrainerState.load_from_json(str(tmp_path / TRAINER_STATE_FILE))
    assert (found.global_step, found.epoch, found.log_history) == (3, 1.5, [{"loss": 0.5, "step": 3}])
