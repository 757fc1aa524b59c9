"""From the lease to its release: who waits, what is resumed from, and why a segment is said to have ended."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from schemas.config.train import TrainConfig
from schemas.errors import GateRefused, InputError, Interrupted
from tasks.checkpoints.address import open_mirror
from tasks.checkpoints.checkpoint_manager import Checkpoint
from tasks.checkpoints.segments import read_segments
from tasks.policy.child import Channel
from tasks.train.resume.lease import CHECKPOINTS_FOLDER, SEGMENTS_FILE, TrainingLease, acquire_training
from tasks.train.resume.preemption import Preemption
from tests.tasks.train.small_request import TRAINING, request_of

CONFIG = TrainConfig.model_validate({"preemption": {"lease_seconds": 2}, "keep_checkpoints": 9})


class Place:
    """A machine's folder, and a mirror that others may have too."""

    def __init__(self, folder: Path, mirror: Path) -> None:
        self.folder = folder
        self.mirror = mirror
        self.stream = io.StringIO()
        folder.mkdir(exist_ok=True)

    def hold(self, preemption: Preemption | None = None, **changes: Any) -> Any:
        request = request_of(CONFIG, self.folder, self.mirror, **changes)
        return acquire_training(request, self.folder, Channel(self.stream), preemption or Preemption(25))

    def train(self, *steps: int, **changes: Any) -> TrainingLease:
        """Keep a checkpoint of each step, and come to the end."""
        held: TrainingLease
        with self.hold(**changes) as held:
            for step in steps:
                keep(held, step)
        return held

    def segments(self) -> list[tuple[int, int | None, str | None]]:
        mirror = open_mirror(str(self.mirror), TRAINING)
        found = read_segments(mirror.store, mirror.root)
        return [(segment.from_step, segment.to_step, segment.ended) for segment in found]

    def objects(self) -> dict[str, bytes]:
        """Return the mirror's checkpoints, byte for byte."""
        kept = [path for part in ("blobs", "manifests", "pins") for path in (self.mirror / TRAINING / part).rglob("*")]
        return {str(path): path.read_bytes() for path in kept if path.is_file()}


def keep(held: TrainingLease, step: int) -> None:
    """Keep a checkpoint whose one file says its step."""

    def fill(folder: Path) -> None:
        (folder / "weights").write_text(f"of step {step} by {held.lease.fencing}", encoding="utf-8")

    held.keeper.keep(Checkpoint(step, {}, fill), "newest")
    held.keeper.flush()


def weights_of(held: TrainingLease) -> str:
    assert held.checkpoint is not None
    return (held.checkpoint / "weights").read_text(encoding="utf-8")


@pytest.fixture
def here(tmp_path: Path) -> Place:
    return Place(tmp_path / "here", tmp_path / "mirror")


@pytest.fixture
def elsewhere(tmp_path: Path) -> Place:
    """An empty machine that has nothing but the mirror."""
    return Place(tmp_path / "elsewhere", tmp_path / "mirror")


def test_it_resumes_from_the_newest_checkpoint_here_and_on_an_empty_machine(here: Place, elsewhere: Place) -> None:
    here.train(1, 2)
    on = here.train(3)
    assert (on.step, weights_of(on)) == (2, "of step 2 by 1")
    other = elsewhere.train(4)
    assert (other.step, weights_of(other)) == (3, "of step 3 by 2")
    assert here.segments() == [(0, 2, "finished"), (2, 3, "finished"), (3, 4, "finished")]


def test_fresh_starts_again_once_a_run_and_removes_what_there_was(here: Place, elsewhere: Place) -> None:
    here.train(1, 2)
    with here.hold(fresh="a run") as held:
        assert (held.checkpoint, held.step) == (None, 0)
        assert here.objects() == {}
        assert not (here.folder / CHECKPOINTS_FOLDER).exists()
        keep(held, 1)
    assert elsewhere.train(fresh="a run").step == 1
    assert [segment[0] for segment in here.segments()] == [0, 0, 1]
    assert elsewhere.train(fresh="another run").step == 0


@pytest.mark.parametrize(
    ("error", "announced", "ended"),
    [
        (GateRefused("an alarm"), False, "stopped"),
        (Interrupted("a notice"), True, "preempted"),
        (KeyboardInterrupt(), False, "interrupted"),
        (InputError("a full disk"), False, "failed"),
        (RuntimeError("a bug"), False, "failed"),
    ],
    ids=str,
)
def test_a_segment_says_why_it_ended(error: BaseException, announced: bool, ended: str, here: Place) -> None:
    preemption = Preemption(25)
    preemption.announced = announced
    with pytest.raises(type(error)), here.hold(preemption) as held:
        keep(held, 2)
        raise error
    document = json.loads((here.folder / SEGMENTS_FILE).read_text(encoding="utf-8"))
    assert document["text"].startswith("0-2 on ")
    assert document["text"].endswith(f", {ended}")
    assert [each["ended"] for each in document["stretches"]] == [ended]
    here.stream.truncate(0)
    with here.hold() as held:
        assert held.step == 2
    assert "progress" not in here.stream.getvalue(), "nobody was waited for"
