"""Training in a child process, seen from outside: its metrics, observations and end."""

import json
import os
import signal
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from benchmarks.gpu_check.child import BEGINS, OBSERVED_FILE
from benchmarks.gpu_check.scale import Scale
from schemas.errors import Interrupted
from tasks.policy.child import ChildProcess, run_child
from tasks.train.request import TrainRequest

PLAIN: Final = "tasks.train.children.grpo"
WATCHED: Final = "benchmarks.gpu_check.child"
RESUMED: Final = "resumed at step "


@dataclass(frozen=True)
class Trained:
    """A child process that has ended."""

    metrics: Mapping[int, Mapping[str, float]]
    """Its reports after each step."""
    observed: Mapping[str, Any]
    """Records of `benchmarks.gpu_check.child`; empty for another child."""
    resumed_at: int | None
    """The step that it resumed at; None where it started from the beginning."""

    def mean(self, name: str) -> float | None:
        """Return a metric's mean over the steps but the first, which also compiles; None where it was not reported."""
        values = [metrics[name] for step, metrics in sorted(self.metrics.items())[1:] if name in metrics]
        return fmean(values) if values else None

    def speed(self) -> dict[str, float | None]:
        """Return its seconds a step, by part, and the sampled tokens a second."""
        names = ("step_time", "seconds/generation", "seconds/update", "sampling/tokens_per_second")
        return {name: self.mean(name) for name in names}


def train(scale: Scale, request: TrainRequest, folder: Path, module: str, kill_in_step: int | None = None) -> Trained:
    """Run a child on a request, and kill it at the beginning of a step if requested.

    Args:
        scale: Share of the GPU that it may take.
        request: The training.
        folder: Folder of the request and the local checkpoints.
        module: The child's module.
        kill_in_step: The step, counted from 1.

    Raises:
        TucanoError: It failed.
    """
    os.environ.update(scale.allocator_settings())
    metrics: dict[int, Mapping[str, float]] = {}
    children: list[ChildProcess] = []
    resumed: list[int] = []

    def hear(done: int, total: int, text: str) -> None:  # noqa: ARG001 - what `run_child` reports
        if kill_in_step is not None and text == f"{BEGINS}{kill_in_step}":
            os.killpg(children[0].pid, signal.SIGKILL)
        if text.startswith(RESUMED):
            resumed.append(int(text.removeprefix(RESUMED)))

    with suppress(Interrupted) if kill_in_step is not None else nullcontext():
        run_child(
            module,
            request,
            folder,
            interpreter=None,
            progress=hear,
            metrics=metrics.__setitem__,
            started=children.append,
        )
    file = folder / OBSERVED_FILE
    observed = json.loads(file.read_text(encoding="utf-8")) if module == WATCHED and file.exists() else {}
    return Trained(metrics, observed, resumed[0] if resumed else None)


def describe_speed(speed: Mapping[str, float | None]) -> str:
    """Return the seconds a step and the tokens a second in words."""
    step, tokens = speed["step_time"], speed["sampling/tokens_per_second"]
    return f"{step:.2f} s a step, {tokens:,.0f} tokens/s sampled" if step and tokens else "no step was measured"
