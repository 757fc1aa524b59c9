"""Step time of our trainer compared with TRL's, in one process, step by step in turns.

Equal shapes: one model and adapter, the same four prompts in each step, eight completions each, and every completion as
long as the limit. Ours has the default recipe and all that the pipeline has it do at each step: the rollout log, the
alarms, the reports, and the checkpoints, which threads write and mirror to a folder. Stock is TRL's `GRPOTrainer` with
the CPU's log-probabilities alone and one reward function, the total, which is its cheapest form; it saves nothing.
Neither validates: both would do that alike.

A step's time is from its beginning to the next one's. Limit: the median of ours at most 1.03 times that of stock.
"""

import os
import sys
import tempfile
import threading
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np

from benchmarks.harness import Report, add_overrides, run_benchmark
from benchmarks.training.watched import SEED, Scene, kept
from schemas.config.profiles import load_config
from tasks.checkpoints.checkpoint_manager import CheckpointManager
from tasks.policy.child import Channel

WARM_UP: Final = 3
"""Warm-up steps of each that do not count."""
RESAMPLES: Final = 10_000
MAX_RATIO: Final = 1.03


@dataclass
class Times:
    """Step times of one trainer, in seconds."""

    wall: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    parts: dict[str, list[float]] = field(default_factory=dict)
    """Parts of a step: generation, rewards, and the rest of TRL's step."""


class Turns:
    """Turns of two trainers: one steps at a time."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._turn = 0
        self._running = {0, 1}

    def wait_for(self, trainer: int) -> None:
        """Wait until it is a trainer's turn, or the other one has finished."""
        with self._condition:
            self._condition.wait_for(lambda: self._turn == trainer or self._running == {trainer})

    def pass_on(self, trainer: int) -> None:
        """End a trainer's turn."""
        with self._condition:
            self._turn = 1 - trainer
            self._condition.notify_all()

    def leave(self, trainer: int) -> None:
        """Take no more turns."""
        with self._condition:
            self._running.discard(trainer)
            self._condition.notify_all()


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--steps", type=int, default=40, help="of each trainer")
    add_overrides(parser)


def measure(report: Report, options: Namespace) -> None:
    """Train with both, step by step in turns."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""

    import transformers

    transformers.utils.logging.disable_progress_bar()
    config = load_config("local", [*options.set, f"train.max_steps={options.steps + WARM_UP}"])
    with (
        tempfile.TemporaryDirectory() as folder,
        Path(os.devnull).open("w", encoding="utf-8") as nobody,
        # Both print what they log.
        redirect_stdout(nobody),
        kept(config, Path(folder) / "checkpoints", f"{folder}/mirror") as keeper,
    ):
        stock, ours = _take_turns(Scene(config, Path(folder), Channel(nobody)), keeper)
    _report(report, stock, ours)


def _take_turns(scene: Scene, keeper: CheckpointManager) -> tuple[Times, Times]:
    """Train both, step by step in turns, each in a thread of its own."""
    turns = Turns()
    times = (Times(), Times())

    def train(trainer: Any, number: int) -> None:
        trainer.add_callback(_timer(turns, number, times[number]))
        turns.pass_on(number)
        trainer.train()

    def train_stock() -> None:
        turns.wait_for(0)
        trainer = scene.stock()
        times[0].parts = _timed(trainer, generation="_generate_single_turn", reward="_calculate_rewards")
        train(trainer, 0)

    def train_ours() -> None:
        turns.wait_for(1)
        trainer, checkpointer = scene.ours(keeper)
        trainer.add_callback(checkpointer)
        train(trainer, 1)
        steps = [entry for entry in trainer.state.log_history if "step_time" in entry]
        times[1].parts = {name: [entry[f"seconds/{name}"] for entry in steps] for name in ("generation", "reward")}

    def in_turns(number: int, work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            turns.leave(number)

    with ThreadPoolExecutor(2) as pool:
        for training in [pool.submit(in_turns, 0, train_stock), pool.submit(in_turns, 1, train_ours)]:
            training.result()
    for each in times:
        each.wall, each.processor = each.wall[WARM_UP:], each.processor[WARM_UP:]
        each.parts = {name: seconds[WARM_UP:] for name, seconds in each.parts.items()}
    return times


def _timed(trainer: Any, **methods: str) -> dict[str, list[float]]:
    """Make some methods of a trainer record their durations."""
    seconds: dict[str, list[float]] = {name: [] for name in methods}

    def timing(method: Callable[..., Any], into: list[float]) -> Callable[..., Any]:
        def timed(*arguments: Any, **named: Any) -> Any:
            started = time.perf_counter()
            result = method(*arguments, **named)
            into.append(time.perf_counter() - started)
            return result

        return timed

    for name, method in methods.items():
        setattr(trainer, method, timing(getattr(trainer, method), seconds[name]))
    return seconds


def _timer(turns: Turns, number: int, times: Times) -> Any:
    """Return a callback that takes its turns and records the time between them."""
    from transformers import TrainerCallback

    class Timer(TrainerCallback):  # type: ignore[misc]
        started: tuple[float, float] | None = None

        def on_step_begin(self, *_: Any, **__: Any) -> None:
            if self.started is not None:
                self._write_down()
                turns.pass_on(number)
            turns.wait_for(number)
            self.started = time.perf_counter(), time.process_time()

        def on_train_end(self, *_: Any, **__: Any) -> None:
            self._write_down()

        def _write_down(self) -> None:
            wall, processor = self.started or (0.0, 0.0)
            times.wall.append(time.perf_counter() - wall)
            times.processor.append(time.process_time() - processor)

    return Timer()


def _report(report: Report, stock: Times, ours: Times) -> None:
    rows: list[tuple[str, ...] | None] = []
    ratios = []
    for name in ("wall", "processor"):
        one, other = getattr(stock, name), getattr(ours, name)
        found, low, high = _ratio(other, one)
        ratios.append(found)
        limit = f"{MAX_RATIO}" if name == "wall" else ""
        rows.append((name, _shown(one), _shown(other), f"{found:.3f}", f"{low:.3f} {high:.3f}", limit))
    rows.append(None)
    rows += [(name, _shown(stock.parts[name]), _shown(ours.parts[name])) for name in ("generation", "reward")]
    rest = [
        [whole - sum(parts) for whole, *parts in zip(each.wall, *each.parts.values(), strict=True)]
        for each in (stock, ours)
    ]
    rows.append(("update and all else", *map(_shown, rest)))
    columns = ("", "stock", "ours", "ours / stock", "95 % interval", "at most")
    report.table(f"A step, median of {len(ours.wall)}, in milliseconds", columns, rows)
    miss = f"a step of ours takes {ratios[0]:.3f} times one of stock, limit {MAX_RATIO}"
    report.limit(ratios[0] <= MAX_RATIO, miss)


def _ratio(ours: Sequence[float], stock: Sequence[float]) -> tuple[float, float, float]:
    """Return the ratio of the medians with its 95 % interval: a percentile bootstrap over neighbouring steps."""
    pairs = np.array([ours, stock])
    drawn = pairs[:, np.random.default_rng(SEED).integers(len(ours), size=(RESAMPLES, len(ours)))]
    medians = np.median(drawn, axis=2)
    low, high = np.quantile(medians[0] / medians[1], [0.025, 0.975])
    return median(ours) / median(stock), float(low), float(high)


def _shown(seconds: Sequence[float]) -> str:
    return f"{1000 * median(seconds):.1f}"


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
