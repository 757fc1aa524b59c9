"""The train stage's GRPO child, with reports of when each part of its work begins and ends.

These show what a process was doing when it was killed, and where its first seconds went; nothing outside of it could.
The parts are those of the pipeline, called as it calls them, in its order.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial, wraps
from itertools import count
from pathlib import Path
from typing import Any, Final

from tasks.policy.child import Channel, as_child

BEGINS: Final = " begins"
ENDS: Final = " ends"
LONG_FILE: Final = "long.json"
"""File next to the request: the seconds that a part keeps computing, as `upload 2`, or a step, by its number. Those
of a large model take a minute."""


def main(request_file: Path, channel: Channel) -> None:
    """Train the request by GRPO, and report its parts."""
    from tasks.checkpoints.local import LocalCheckpoints
    from tasks.checkpoints.mirror import Mirror
    from tasks.train import stage
    from tasks.train.backend import trainable as backend
    from tasks.train.children import grpo

    file = request_file.parent / LONG_FILE
    seconds = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    report = partial(_report, channel, seconds)
    report(LocalCheckpoints, "write", "save")
    report(Mirror, "restore", "download")
    report(Mirror, "publish", "upload")
    load_trainable = backend.load_trainable

    def load(*arguments: Any, **named: Any) -> Any:
        # Torch is imported here, and TRL after it: neither may be imported before.
        trainable = load_trainable(*arguments, **named)
        from tasks.train.watch import validation

        report(validation, "validate", "evaluation")
        return trainable

    vars(backend)["load_trainable"] = load

    def start(inputs: stage.TrainingInputs) -> stage.StartedTraining:
        with _reported(channel, "make the trainer"):
            started = grpo.start(inputs)
        report(started.trainer.rollout_generator, "sample", "sampling")
        report(inputs.rewards, "score", "scoring")
        started.trainer.add_callback(_steps(channel, seconds))
        return started

    stage.train(request_file, channel, start)


@contextmanager
def _reported(channel: Channel, part: str) -> Iterator[None]:
    channel.progress(0, 0, part + BEGINS)
    yield
    channel.progress(0, 0, part + ENDS)


def _report(channel: Channel, seconds: Mapping[str, float], owner: object, name: str, part: str) -> None:
    """Replace an owner's function by one that reports its beginning and end, and may keep computing."""
    numbers = count(1)
    function: Callable[..., Any] = getattr(owner, name)

    @wraps(function)
    def reported(*arguments: Any, **named: Any) -> Any:
        with _reported(channel, part):
            if wait := seconds.get(f"{part} {next(numbers)}"):
                _compute(wait)
            return function(*arguments, **named)

    setattr(owner, name, reported)


def _steps(channel: Channel, seconds: Mapping[str, float]) -> Any:
    """Return a callback that reports each step, and keeps computing in some."""
    from transformers import TrainerCallback

    updates = count(1)

    class Steps(TrainerCallback):  # type: ignore[misc]
        def on_step_begin(self, _arguments: Any, state: Any, _control: Any, **_: Any) -> None:
            channel.progress(0, 0, f"step{BEGINS}")
            _compute(seconds.get(str(state.global_step + 1), 0.0))

        def on_pre_optimizer_step(self, *_: Any, **__: Any) -> None:
            channel.progress(0, 0, f"optimizer{BEGINS}")
            _compute(seconds.get(f"optimizer {next(updates)}", 0.0))

    return Steps()


def _compute(seconds: float) -> None:
    """Keep a core and Python busy as a step does."""
    import torch

    end = time.monotonic() + seconds
    values = torch.ones(128, 128)
    while time.monotonic() < end:
        values = torch.tanh(values @ values)


if __name__ == "__main__":
    with as_child() as (request_file, channel):
        main(request_file, channel)
