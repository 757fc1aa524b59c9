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
from argparse import Namespace
from pathlib import Path

from benchmarks.harness import Report, run_benchmark
from flows.runtime.session import EXPERIMENT, mlflow_store
from flows.stages.runner import WORK_SECONDS
from schemas.config.config import StateConfig

STATE = Path(".tucano") / "benchmark-orchestration"
MAX_SHARE = 0.08
MAX_SECONDS = 15.0

Span = tuple[str, float, float]
"""A stage, and the start and end of its own work, in seconds since 1970."""


def measure(report: Report, _: Namespace) -> None:
    """Retrain, and take the stages' own work from the wall time."""
    shutil.rmtree(STATE, ignore_errors=True)
    command = [sys.executable, "-m", "flows", "retrain", "--profile", "local", "--set", f"state.root={STATE}"]
    began = time.time()
    code = subprocess.run(command, stdout=sys.stderr, env=os.environ, check=False).returncode
    ended = time.time()
    if code not in {0, 3}:
        raise SystemExit(f"tucano retrain ended with exit code {code}")
    spans = _spans()
    wall, work = ended - began, _together(spans)
    whole = wall - work
    outside = {
        "until the first stage works": spans[0][1] - began,
        "after the last stage's work": ended - max(end for _, _, end in spans),
        "orchestration, whole": whole,
    }
    report.table(
        f"tucano retrain --profile local: {wall:.1f} s of wall time",
        ("part", "seconds", "of the wall time"),
        [
            *((name, f"{end - start:.1f}", f"{(end - start) / wall:.1%}") for name, start, end in spans),
            None,
            *((name, f"{seconds:.1f}", f"{seconds / wall:.1%}") for name, seconds in outside.items()),
        ],
    )
    miss = f"orchestration took {whole:.1f} s, more than {MAX_SECONDS:.0f} and than {MAX_SHARE:.0%}"
    report.limit(whole <= max(MAX_SECONDS, MAX_SHARE * wall), miss)


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
    sys.exit(run_benchmark(__package__, __doc__, measure))
