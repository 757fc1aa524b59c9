"""Time of comparisons, each in a process of its own, for `benchmarks.statistics`."""

import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from schemas.tasks import TASK_NAMES, TaskName

RUNS: Final = 3
SIX_TASKS: Final = "6 tasks x 3 seeds x 4 samples x 240 prompts, read and compared"
COMMAND: Final = "tucano compare of 65 pairs, start included"
LIMITS: Final[Mapping[str, float]] = {SIX_TASKS: 5.0, COMMAND: 3.0}
"""Seconds, by comparison."""


def seconds(name: str) -> float:
    """Return the median of the seconds that a comparison takes."""
    with tempfile.TemporaryDirectory() as folder:
        base, tuned = Path(folder) / "base.jsonl", Path(folder) / "tuned.jsonl"
        for number, file in enumerate((base, tuned)):
            _write(
                file, random.Random(number), *((TASK_NAMES, 240, 3, 4) if name == SIX_TASKS else (("push",), 65, 1, 1))
            )
        measured = _in_a_process if name == SIX_TASKS else _by_command
        return statistics.median(measured(base, tuned) for _ in range(RUNS))


def _write(file: Path, rng: random.Random, tasks: Sequence[TaskName], prompts: int, seeds: int, samples: int) -> None:
    """Write scores with their ground truth, which is compared too."""
    rows = (
        {
            "task": task,
            "prompt_id": f"{task}-{prompt}",
            "seed": seed,
            "sample": sample,
            "score": rng.randrange(21) / 20,
            "truth": rng.randrange(21) / 20,
        }
        for task in tasks
        for prompt in range(prompts)
        for seed in range(seeds)
        for sample in range(samples)
    )
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def _in_a_process(base: Path, tuned: Path) -> float:
    """Return the seconds from the first import to the last number."""
    child = [sys.executable, "-m", "benchmarks.statistics.timing", str(base), str(tuned)]
    return float(subprocess.run(child, check=True, stdout=subprocess.PIPE, text=True).stdout)


def _by_command(base: Path, tuned: Path) -> float:
    started = time.perf_counter()
    command = [sys.executable, "-m", "flows", "compare", str(base), str(tuned), "--report", str(base.parent / "report")]
    held = subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    took = time.perf_counter() - started
    # Scores at random are held: exit code 3.
    if held.returncode not in (0, 3):
        raise RuntimeError(f"tucano compare failed with {held.returncode}: {held.stderr}")
    return took


def _compare(base: Path, tuned: Path) -> None:
    started = time.perf_counter()
    from tasks.evaluate.compare import compare
    from tasks.evaluate.stats.pairing import read_scores

    compare(read_scores(base), read_scores(tuned), margin=0.05, resamples=10_000, seed=0)
    print(time.perf_counter() - started)


if __name__ == "__main__":
    _compare(*map(Path, sys.argv[1:]))
