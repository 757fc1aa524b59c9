"""Shutdown of a training after a preemption notice, and the time until another process resumes it."""

import json
import os
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.checkpoints.child import BEGINS, LONG_FILE
from benchmarks.checkpoints.trainings import Life, Moment, live
from benchmarks.harness import Report
from schemas.config.train import TrainConfig
from schemas.errors import Interrupted
from tasks.checkpoints.address import open_mirror
from tasks.checkpoints.segments import read_segments
from tasks.policy.child import ChildProcess
from tasks.train.request import TrainRequest
from tests.storage_server import StorageServer
from tests.tasks.train.metadata_server import metadata_server

SECONDS_TO_LEAVE: Final = 25.0
UPLOAD_RATE: Final = 20e6
RANK: Final = 384
"""Rank of the adapter: on the stand-in's six layers that is 41 MB, and twice as much of optimizer."""
LONG_STEP: Final = 4
RESUMES: Final = 3
IN_THE_STEP: Final = Moment(3.0, "step", LONG_STEP)


@dataclass(frozen=True)
class Scenario:
    """A notice and what it interrupts."""

    name: str
    step_seconds: float
    """Duration of the current step."""
    moment: Moment = IN_THE_STEP
    by_metadata: bool = False
    """Whether the metadata server gives the notice, and not SIGTERM."""
    save_every: int = 100


SCENARIOS: Final = (
    Scenario("SIGTERM", 60.0),
    Scenario("SIGTERM", 8.0),
    # The step before is being mirrored, after the best one before it.
    Scenario("SIGTERM, in an upload", 20.0, Moment(0.5, "upload", 2), save_every=3),
    Scenario("metadata server", 60.0, by_metadata=True),
    Scenario("metadata server", 8.0, by_metadata=True),
)


def report_notices(report: Report, request: TrainRequest, folder: Path, server: StorageServer) -> None:
    """Give notice in each scenario, to a training with an adapter of 42 MB and a slow bucket."""
    server.upload_rate = UPLOAD_RATE
    rows: list[tuple[str | float, ...]] = []
    with metadata_server() as metadata:
        for number, scenario in enumerate(SCENARIOS):
            asked = _large(request, server, number, scenario.save_every, metadata.url if scenario.by_metadata else None)
            here = folder / f"notice-{number}"
            here.mkdir(parents=True)
            (here / LONG_FILE).write_text(json.dumps({str(LONG_STEP): scenario.step_seconds}), encoding="utf-8")
            metadata.set(b"FALSE")

            def act(child: ChildProcess, by_metadata: bool = scenario.by_metadata) -> None:
                if by_metadata:
                    metadata.set(b"TRUE")
                else:
                    os.killpg(child.pid, signal.SIGTERM)

            life = live(asked, here, scenario.moment, act)
            if life.struck_at is None:
                raise SystemExit(f"{scenario.name}: the training ended before its notice: {life.sentence}")
            rows.append(_left(report, scenario, life, life.seconds - life.struck_at, asked))
            shutil.rmtree(here)
    server.upload_rate = None
    columns = {"notice": "", "step under way": "", "s to exit": ".1f", "exit code": "", "mirrored, MB": ""}
    title = f"Notice with uploads at 20 MB/s; limit {SECONDS_TO_LEAVE:.0f} s"
    report.table(title, {**columns, "lease": "", "segment": ""}, rows, left=("step under way", "lease", "segment"))


def _left(
    report: Report, scenario: Scenario, life: Life, seconds: float, request: TrainRequest
) -> tuple[str | float, ...]:
    """Note the promises that a training broke when it left, and return its row."""
    mirror = open_mirror(request.mirror, request.training)
    newest = next(iter(mirror.manifests()), None)
    if newest is not None:
        mirror.verify(newest)
    mirrored = newest.step if newest else None
    megabytes = sum(file.size for file in newest.files.values()) / 1e6 if newest else 0.0
    segment = read_segments(mirror.store, mirror.root)[-1]
    released = f"{mirror.root}lease/{segment.fencing:08d}/released.json"
    is_released = any(stored.key == released for stored in mirror.store.list(released))
    wanted = "preempted" if scenario.by_metadata else "interrupted"
    what = f"{scenario.name}, a step of {scenario.step_seconds:.0f} s"
    report.limit(seconds < SECONDS_TO_LEAVE, f"{what}: {seconds:.1f} s, limit {SECONDS_TO_LEAVE:.0f}")
    report.limit(life.exit_code == Interrupted.exit_code, f"{what}: exit code {life.exit_code}, {life.sentence}")
    report.limit(life.finished == mirrored, f"{what}: step {life.finished} was finished and {mirrored} mirrored")
    report.limit(is_released, f"{what}: the lease is held")
    report.limit(segment.ended == wanted, f"{what}: the segment ended {segment.ended}, not {wanted}")
    step = f"{scenario.step_seconds:.0f} s, {'finished' if life.finished == LONG_STEP else 'abandoned'}"
    left = "released" if is_released else "held"
    size = f"step {mirrored}, {megabytes:.0f}"
    return scenario.name, step, seconds, life.exit_code, size, left, str(segment.ended)


def _large(
    request: TrainRequest, server: StorageServer, number: int, save_every: int = 100, url: str | None = None
) -> TrainRequest:
    settings: dict[str, Any] = {
        "lora": {"rank": RANK, "alpha": RANK},
        "learning_rate": 1e-4,
        # More than a slow machine takes before the kill.
        "max_steps": 20,
        "save_every": save_every,
        "evaluate_every": 2,
        "preemption": {"notice_url": url},
    }
    config = TrainConfig.model_validate({**request.config.model_dump(), **settings})
    mirror = f"gs://{server.bucket}/large"
    return request.model_copy(update={"config": config, "mirror": mirror, "training": f"notice-{number}"})


def resumes(request: TrainRequest, folder: Path, server: StorageServer) -> list[tuple[str, float, float]]:
    """Resume in an empty folder until killed at the start of the first step: at the laptop's size, and with 42 MB.

    Each is its size, its seconds from the start of Python without the download, and those of the download.
    """
    laptop = request.model_copy(update={"mirror": f"gs://{server.bucket}/laptop", "training": "resume"})
    found = []
    for size, asked in {"laptop": laptop, "42 MB adapter": _large(request, server, len(SCENARIOS))}.items():
        # When the second upload begins, the first is complete.
        live(asked, folder / f"first-{size}", Moment(0.0, "upload", 2))
        for number in range(RESUMES):
            here = folder / f"{size}-{number}"
            life = live(asked, here, Moment(0.0, "step"))
            if life.struck_at is None or not life.resumed_from:
                raise SystemExit(f"the training did not resume from its checkpoint: {life.sentence}")
            first = next(seconds for seconds, text in life.events if text == f"step{BEGINS}")
            download = life.seconds_in("download")
            found.append((size, first - download, download))
            shutil.rmtree(here)
    return found
