"""Processes of a distributed training.

Each holds the whole training: the same adapter, optimizer, samplers and selection. Each samples and learns its share of
a step's prompts; all samples are gathered before any decision, so that all decide the same. The first process alone
holds the lease, validates, writes and reports.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final, TypeVar

from schemas.config.train import TrainConfig
from schemas.errors import InputError, Interrupted, TucanoError
from tasks.policy.child import rank, world_size
from tasks.train.resume.preemption import Preemption

LONGEST_WAIT: Final = timedelta(days=1)
"""Timeout of one process for another, which may wait for a lease. The launcher notices a dead one at once."""
SECONDS_TO_BE_ASKED: Final = 5.0
"""The launcher stops the others some tenths of a second after one has died."""

Result = TypeVar("Result")


def barrier(config: TrainConfig) -> None:
    """Join the process group of this training, each process on its own GPU if there are any."""
    if world_size() == 1:
        return
    import torch
    from accelerate import PartialState

    devices = torch.cuda.device_count()
    if devices < config.processes and (devices or config.device_memory_gb is not None):
        raise InputError(
            f"train.processes is {config.processes}, one a GPU, and this machine shows {devices}; set "
            f"train.processes={max(1, devices)}, or train where there are as many"
        )
    PartialState(cpu=devices == 0, timeout=LONGEST_WAIT)


def broadcast(work: Callable[[], Result]) -> Result:
    """Run some work in the first process, and return its result in all."""
    if world_size() == 1:
        return work()
    from accelerate.utils import broadcast_object_list

    results: list[Any] = [None if rank() else work()]
    broadcast_object_list(results)
    found: Result = results[0]
    return found


def sampling_seed(seed: int, step: int, place: int) -> int:
    """Return the sampling seed of a process in a step; it is unique, and no checkpoint keeps it."""
    return random.Random(f"{seed} rollouts {step} {place}").getrandbits(63)


@contextmanager
def ended_by_another(preemption: Preemption, leave: Callable[[], None]) -> Iterator[None]:
    """Separate a failure of this process from the end of another, which libraries report as a lost connection."""
    try:
        yield
    except TucanoError:
        raise
    except Exception:
        if world_size() > 1 and preemption.noticed.wait(SECONDS_TO_BE_ASKED):
            leave()
        raise


def forward_exit() -> None:
    """Stop after the first process, which reports what was saved."""
    raise Interrupted("another process of this training ended; run the same command again to resume")
