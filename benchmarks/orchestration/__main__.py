"""Orchestration overhead of `tucano retrain --profile local`, from start to exit.

Orchestration is all that is not a stage's own work: Python's start and imports, Prefect's server, flows and caches,
artifacts hashed and committed, MLflow's records, the tables at the end. Trainings may run concurrently, so the stages'
work is the time in which at least one of them worked. Limit: at most 8 % of the wall time, or 15 seconds.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from flows.runtime.session import EXPERIMENT, mlflow_store
from flows.stages.runner import WORK_SECONDS
from schemas.config.config import StateConfig

STATE = Path(".tucano") / "benchmark-orchestration"
MAX_SHARE = 0.08
MAX_SECONDS = 15.0

Span = tuple[str, float, float]
"""A stage, and the start and end of its own work, in seconds since 1970."""


def main() -> int:
    """Run the benchmark; the exit code says whether the limit was met."""
    shutil.rmtree(STATE, ignore_errors=True)
    command = [sys.executable, "-m", "flows", "retrain", "--profile", "local", "--set", f"state.root={STATE}"]
    began = time.time()
    code = subprocess.run(command, env=os.environ, check=False).returncode
    ended = time.time()
    if code not in {0, 3}:
        raise SystemExit(f"tucano retrain ended with exit code {code}")
    spans = _spans()
    wall, work = ended - began, _together(spans)
    table = Table(title=f"tucano retrain --profile local: {wall:.1f} s of wall time")
    for column in ("part", "seconds", "of the wall time"):
        table.add_column(column, justify="left" if column == "part" else "right")
    for name, start, end in spans:
        table.add_row(name, f"{end - start:.1f}", f"{(end - start) / wall:.1%}")
    table.add_section()
    table.add_row("until the first stage works", f"{spans[0][1] - began:.1f}", f"{(spans[0][1] - began) / wall:.1%}")
    last = max(end for _, _, end in spans)
    table.add_row("after the last stage's work", f"{ended - last:.1f}", f"{(ended - last) / wall:.1%}")
    table.add_row("orchestration, whole", f"{wall - work:.1f}", f"{(wall - work) / wall:.1%}")
    Console(width=100).print(table)
    if wall - work > max(MAX_SECONDS, MAX_SHARE * wall):
        print(f"MISSED: orchestration took {wall - work:.1f} s, more than {MAX_SECONDS:.0f} and than {MAX_SHARE:.0%}")
        return 1
    return 0


def _spans() -> list[Span]:
    """Return the stages' own work from MLflow, by start time."""
    from mlflow import MlflowClient

    client = MlflowClient(mlflow_store(StateConfig(root=STATE))[0])
    experiment = client.get_experiment_by_name(EXPERIMENT)
    spans = []
    for run in client.search_runs([experiment.experiment_id]):
        for metric in client.get_metric_history(run.info.run_id, WORK_SECONDS):
            end = metric.timestamp / 1000
            spans.append((run.info.run_name, end - metric.value, end))
    return sorted(spans, key=lambda span: span[1])


def _together(spans: list[Span]) -> float:
    """Return the time in which at least one of the stages worked, in seconds."""
    worked, until = 0.0, 0.0
    for _, start, end in sorted(spans, key=lambda span: span[1]):
        worked += max(0.0, end - max(start, until))
        until = max(until, end)
    return worked


if __name__ == "__main__":
    sys.exit(main())
