"""Shutdown of a training after a preemption notice, and the time until another process resumes it."""

import json
import os
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.checkpoints.child import BEGINS, LONG_STEPS_FILE
from benchmarks.checkpoints.trainings import Life, Moment, kill, live
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


@dataclass(frozen=True)
class Scenario:
    """A notice and what it interrupts."""

    name: str
    step_seconds: float
    """Duration of the current step."""
    moment: Moment
    by_metadata: bool = False
    """Whether the metadata server gives the notice, and not SIGTERM."""
    save_every: int = 100


IN_THE_STEP: Final = Moment(3.0, "step", LONG_STEP)
SCENARIOS: Final = (
    Scenario("SIGTERM", 60.0, IN_THE_STEP),
    Scenario("SIGTERM", 8.0, IN_THE_STEP),
    # The step before is being mirrored, after the best one before it.
    Scenario("SIGTERM, in an upload", 20.0, Moment(0.5, "upload", 2), save_every=3),
    Scenario("metadata server", 60.0, IN_THE_STEP, by_metadata=True),
    Scenario("metadata server", 8.0, IN_THE_STEP, by_metadata=True),
)


@dataclass(frozen=True)
class Leaving:
    """Effects of a notice."""

    scenario: Scenario
    seconds: float
    """From the notice to the exit."""
    life: Life
    mirrored: int | None
    """The newest step in the mirror whose every byte verifies."""
    megabytes: float
    """Size of that checkpoint."""
    released: bool
    """Whether another process may resume at once."""
    ended: str | None
    """Reason of the segment's end, from the mirror."""

    def misses(self) -> list[str]:
        """Return the broken promises."""
        wanted = "preempted" if self.scenario.by_metadata else "interrupted"
        code, finished = self.life.exit_code, self.life.finished
        kept = {
            f"{self.seconds:.1f} s, limit {SECONDS_TO_LEAVE:.0f}": self.seconds < SECONDS_TO_LEAVE,
            f"exit code {code}, {self.life.sentence}": code == Interrupted.exit_code,
            f"step {finished} was finished and {self.mirrored} mirrored": finished == self.mirrored,
            "the lease is held": self.released,
            f"the segment ended {self.ended}, not {wanted}": self.ended == wanted,
        }
        step = f"{self.scenario.name}, a step of {self.scenario.step_seconds:.0f} s"
        return [f"{step}: {what}" for what, is_met in kept.items() if not is_met]


def notices(request: TrainRequest, folder: Path, server: StorageServer) -> list[Leaving]:
    """Give notice in each scenario, to a training with an adapter of 42 MB and a slow bucket."""
    server.upload_rate = UPLOAD_RATE
    found = []
    with metadata_server() as metadata:
        for number, scenario in enumerate(SCENARIOS):
            asked = _large(request, server, number, scenario.save_every, metadata.url if scenario.by_metadata else None)
            here = folder / f"notice-{number}"
            here.mkdir(parents=True)
            (here / LONG_STEPS_FILE).write_text(json.dumps({str(LONG_STEP): scenario.step_seconds}), encoding="utf-8")
            metadata.set(b"FALSE")

            def act(child: ChildProcess, by_metadata: bool = scenario.by_metadata) -> None:
                if by_metadata:
                    metadata.set(b"TRUE")
                else:
                    os.killpg(child.pid, signal.SIGTERM)

            life = live(asked, here, scenario.moment, act)
            if life.struck_at is None:
                raise SystemExit(f"{scenario.name}: the training ended before its notice: {life.sentence}")
            found.append(_left(scenario, life, life.struck_at, asked))
            shutil.rmtree(here)
    server.upload_rate = None
    return found


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


def _left(scenario: Scenario, life: Life, struck_at: float, request: TrainRequest) -> Leaving:
    mirror = open_mirror(request.mirror, request.training)
    newest = next(iter(mirror.manifests()), None)
    if newest is not None:
        mirror.verify(newest)
    segment = read_segments(mirror.store, mirror.root)[-1]
    released = f"{mirror.root}lease/{segment.fencing:08d}/released.json"
    return Leaving(
        scenario=scenario,
        seconds=life.seconds - struck_at,
        life=life,
        mirrored=None if newest is None else newest.step,
        megabytes=0.0 if newest is None else sum(file.size for file in newest.files.values()) / 1e6,
        released=any(stored.key == released for stored in mirror.store.list(released)),
        ended=segment.ended,
    )


def resumes(request: TrainRequest, folder: Path, server: StorageServer) -> dict[str, list[tuple[float, float]]]:
    """Resume in an empty folder until killed at the start of the first step: at the laptop's size, and with 42 MB.

    Each resume is its seconds from the start of Python, without the download, and those of the download.
    """
    laptop = request.model_copy(update={"mirror": f"gs://{server.bucket}/laptop", "training": "resume"})
    sizes = {"laptop": laptop, "42 MB adapter": _large(request, server, len(SCENARIOS))}
    return {size: _resumes(asked, folder / size.split()[0]) for size, asked in sizes.items()}


def _resumes(request: TrainRequest, folder: Path) -> list[tuple[float, float]]:
    # When the second upload begins, the first is complete.
    live(request, folder / "first", Moment(0.0, "upload", 2), kill)
    found = []
    for number in range(RESUMES):
        here = folder / f"resume-{number}"
        life = live(request, here, Moment(0.0, "step"), kill)
        if life.struck_at is None or not life.resumed_from:
            raise SystemExit(f"the training did not resume from its checkpoint: {life.sentence}")
        first = next(seconds for seconds, text in life.events if text == f"step{BEGINS}")
        download = sum(life.durations()["download"])
        found.append((first - download, download))
        shutil.rmtree(here)
    return found
