"""A process whose memory is too small for packed rows goes on plainly beside others that pack, with one gradient."""

from datetime import timedelta
from functools import partial
from itertools import repeat
from pathlib import Path

import pytest
import torch
from torch import distributed
from torch.multiprocessing.spawn import spawn
from torch.nn.parallel import DistributedDataParallel

from schemas.config.train import TrainConfig
from tasks.train.grpo.packed import PackedRow
from tasks.train.grpo.packed_update import PackedUpdate
from tasks.train.grpo.recipe import grpo_arguments
from tests.tasks.train.grpo.test_packed import batch, model_of, packed_scores, plain_scores, trainer_of
from tests.tasks.train.grpo.test_packed_backward import FULL, failing_backward, gradients_of, learn

pytestmark = pytest.mark.integration

PROCESSES = 2
STEPS = 3


def broadcasts() -> bool:
    arguments = grpo_arguments(
        TrainConfig(), weights=[0.5, 0.5], prompts=8, max_prompt_tokens=8, seed=1, work=Path(), on_gpu=False
    )
    return bool(arguments["ddp_broadcast_buffers"])


def learn_in_process(rank: int, where: str, folder: Path) -> None:
    """Learn from some batches in this process; in the second step the memory of one is too small."""
    store, longest = f"file://{folder}/store", timedelta(seconds=60)
    distributed.init_process_group("gloo", store, longest, world_size=PROCESSES, rank=rank)
    model, given = model_of("Qwen3"), batch()
    trainer = trainer_of(model)
    update = PackedUpdate(trainer, wanted=True)
    wrapped = DistributedDataParallel(model, broadcast_buffers=broadcasts())
    for step in range(STEPS):
        error = FULL if step == 1 and rank == 1 else None
        with pytest.MonkeyPatch.context() as patch, failing_backward(partial(next, repeat(error))):
            if error is not None and where == "forward":
                patch.setattr(PackedRow, "attend", _full)
            found = packed_scores(update, wrapped, given)
            learn(plain_scores(trainer, wrapped, given) if found is None else found, given)
    torch.save([update.is_on, gradients_of(model)], folder / f"{rank}.pt")
    distributed.destroy_process_group()


def _full(*_: object, **__: object) -> torch.Tensor:
    raise FULL


@pytest.mark.parametrize("where", ["forward", "backward"])
def test_one_process_falls_back_and_all_have_the_same_gradient(where: str, tmp_path: Path) -> None:
    spawn(learn_in_process, (where, tmp_path), nprocs=PROCESSES)  # type: ignore[no-untyped-call]
    (packs, gradients), (falls_back, others) = (torch.load(tmp_path / f"{rank}.pt") for rank in range(PROCESSES))
    assert packs
    assert not falls_back
    model, given = model_of("Qwen3"), batch()
    learn(plain_scores(trainer_of(model), model, given), given)
    for name, gradient in gradients_of(model).items():
        assert torch.equal(gradients[name], others[name]), name
        assert (gradients[name] - STEPS * gradient).norm() <= 1e-5 * (STEPS * gradient).norm(), name
