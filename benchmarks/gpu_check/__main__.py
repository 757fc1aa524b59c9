"""Command of the GPU check: measure each group within its time, print the table, and write the figures to a file.

Exit code 1 where a limit is missed or a group fails, 2 without a GPU.
"""

import argparse
import importlib.util
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from rich.console import Console
from rich.table import Table

from benchmarks.gpu_check.base import Row, Scale, read_rows, rows_file

REPOSITORY: Final = Path(__file__).resolve().parents[2]
SECONDS: Final = 1200
MIN_SECONDS: Final = 10
"""Least remaining time with which a group is started."""
WIDTH: Final = 100
SHOWN: Final = 4000
"""Last characters that are printed of each log of a failed group."""
PROJECT: Final = ("torch", "transformers", "pydantic", "polars", "datasets", "peft", "trl")
"""Imports of the trainer's child."""


@dataclass(frozen=True)
class Group:
    """Checks that share a process, within a time limit: what a module's `measure` yields."""

    module: str
    title: str
    seconds: float
    needs: tuple[str, ...] = ()
    """Modules that must be importable."""
    needs_gpu: bool = False
    """Whether a CPU skips it; on one vLLM runs only with parts of it replaced, as `make test-vllm` does."""


GROUPS: Final = (
    Group("training", "training by the real child", 420, PROJECT),
    Group("answers", "answers and merge", 120, PROJECT),
    Group("rollouts", "rollouts by vLLM", 150, (*PROJECT, "vllm"), needs_gpu=True),
    Group("guided", "guided decoding by vLLM", 120, (*PROJECT, "vllm"), needs_gpu=True),
)
"""In order: without time for all of them, the last are skipped."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the GPU, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(prog="gpu_check", description=__doc__)
    parser.add_argument("--shape", choices=("l4", "tiny"), default="l4", help="size of models and batches")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--gigabytes", type=float, default=24.0, help="most memory of the card that is taken")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="most time in all")
    parser.add_argument("--only", nargs="+", choices=[group.module for group in GROUPS], help="groups to measure")
    parser.add_argument("--out", type=Path, help="file for the rows and their figures, as JSON")
    options = parser.parse_args(arguments)
    card, total = ("CPU", 0) if options.device == "cpu" else _card()
    if options.device == "cuda" and not total:
        Console(stderr=True).print(f"nothing was checked: {card}; run it on the machine that trains")
        return 2
    share = min(1.0, options.gigabytes * 1e9 / total) if total else 1.0
    scale = Scale(options.shape, options.device, options.gigabytes, share)
    groups = [group for group in GROUPS if not options.only or group.module in options.only]
    with TemporaryDirectory() as work:
        rows = measure_all(groups, scale, Path(work), options.seconds)
    print_table(rows, card)
    if options.out:
        document = {"card": card, "card_bytes": total, "python": platform.python_version(), "scale": asdict(scale)}
        text = json.dumps({**document, "rows": [asdict(row) for row in rows]}, indent=1, ensure_ascii=False)
        options.out.write_text(text, encoding="utf-8")
    return 1 if any(row.verdict == "MISSED" for row in rows) else 0


def _card() -> tuple[str, int]:
    """Return the name of the GPU and its bytes; or why there is none, and 0. No memory of it is taken."""
    try:
        import torch
    except ImportError as error:
        return f"torch cannot be imported ({error})", 0
    if not torch.cuda.is_available():
        return "there is no GPU here", 0
    properties = torch.cuda.get_device_properties(0)
    return properties.name, properties.total_memory


def measure_all(groups: Sequence[Group], scale: Scale, work: Path, seconds: float) -> list[Row]:
    """Measure groups one after another in an empty folder; groups for which no time is left are missed."""
    deadline = time.monotonic() + seconds
    rows = []
    for group in groups:
        Console(stderr=True).print(f"{group.title} ...")
        # A CPU's time depends on what else it does.
        left = min(group.seconds if scale.on_gpu else seconds, deadline - time.monotonic())
        if missing := [name for name in group.needs if importlib.util.find_spec(name) is None]:
            rows.append(Row(group.title, f"needs {', '.join(missing)}", "", "not here"))
        elif group.needs_gpu and not scale.on_gpu:
            rows.append(Row(group.title, "needs a GPU", "", "not here"))
        elif left < MIN_SECONDS:
            rows.append(Row(group.title, f"not begun: the {seconds:.0f} s were over", "is measured", "MISSED"))
        else:
            failure = _run(group, scale, work, left)
            rows += read_rows(rows_file(work, group.module))
            rows += [Row(group.title, failure, "ends", "MISSED")] if failure else []
    return rows


def _run(group: Group, scale: Scale, work: Path, seconds: float) -> str:
    """Run a group's process; return a description of its failure, empty where there was none."""
    log = work / f"{group.module}.log"
    command = [sys.executable, "-m", "benchmarks.gpu_check.group", group.module, str(work), json.dumps(asdict(scale))]
    paths = [str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    earlier = {file: file.stat().st_size for file in work.rglob("*.log")}
    with log.open("wb") as said:
        # A session of its own: its child processes end with it.
        process = subprocess.Popen(
            command, stdout=said, stderr=said, stdin=subprocess.DEVNULL, env=environment, start_new_session=True
        )
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
        finally:
            if timed_out := process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    if process.returncode == 0:
        return ""
    # A child's log holds what failed, and its folder is removed at the end.
    for grown in sorted(file for file in work.rglob("*.log") if file.stat().st_size != earlier.get(file)):
        text = grown.read_text(encoding="utf-8", errors="replace")
        Console(stderr=True).print(f"{grown.relative_to(work)}:\n{text[-SHOWN:]}", markup=False, highlight=False)
    if timed_out:
        return f"killed after {seconds:.0f} s"
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    return f"exit code {process.returncode}: {next(filter(None, reversed(lines)), 'nothing was said').strip()[:200]}"


def print_table(rows: Sequence[Row], card: str) -> None:
    """Print the rows, at most 100 columns wide."""
    table = Table(title=f"gpu-check on {card}", title_justify="left")
    for name in ("check", "measured", "limit", "verdict"):
        table.add_column(name, no_wrap=name == "verdict", overflow="fold")
    for row in rows:
        table.add_row(row.name, row.measured, row.limit, row.verdict)
    Console(width=WIDTH, markup=False, highlight=False).print(table)


if __name__ == "__main__":
    sys.exit(main())
