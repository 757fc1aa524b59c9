"""How a training leaves: at the end of its step or in the middle of it, with its last finished step mirrored."""

import io
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from schemas.config.train import TrainConfig
from schemas.errors import Interrupted
from tasks.checkpoints.address import open_mirror
from tasks.checkpoints.checkpoint_manager import Checkpoint
from tasks.checkpoints.lease import Lease
from tasks.checkpoints.mirror import Mirror
from tasks.checkpoints.segments import read_segments
from tasks.policy.child import Channel
from tasks.train.resume.lease import acquire_training
from tasks.train.resume.preemption import Preemption
from tasks.train.resume.shutdown import GracefulShutdown
from tests.tasks.train.small_request import TRAINING, request_of

LONG = 120
"""Seconds after which a test has failed that waits for something."""
NEVER = 1e9
"""Seconds until the exit: where they are over the process ends, which here is that of the tests."""


def checkpoint_of(step: int) -> Checkpoint:
    def fill(folder: Path) -> None:
        (folder / "weights").write_text(f"of step {step}", encoding="utf-8")

    return Checkpoint(step, {}, fill)


def mirror_in(folder: Path) -> Mirror:
    return open_mirror(str(folder / "mirror"), TRAINING)


def segments_in(folder: Path) -> list[tuple[int | None, str | None]]:
    mirror = mirror_in(folder)
    return [(segment.to_step, segment.ended) for segment in read_segments(mirror.store, mirror.root)]


def require_free(folder: Path) -> None:
    """Take the lease without waiting for anybody."""
    mirror = mirror_in(folder)

    def refuse(sentence: str, _: float) -> None:
        raise AssertionError(sentence)

    Lease.acquire(mirror.store, mirror.root, seconds=60, waiting=refuse).release()


class Leaving:
    """A training that is held in this process."""

    def __init__(self, folder: Path) -> None:
        self.preemption = Preemption(NEVER)
        self.stack = ExitStack()
        request, channel = request_of(TrainConfig(), folder, folder / "mirror"), Channel(io.StringIO())
        self.held = self.stack.enter_context(acquire_training(request, folder, channel, self.preemption))
        self.shutdown = GracefulShutdown(self.preemption, channel)
        self.shutdown.with_training(self.held)

    def has_finished(self, step: int) -> None:
        self.held.keeper.last = checkpoint_of(step)

    def leave(self) -> str:
        """Leave as a training does at the end of its step, and return what it says."""
        self.preemption.notice()
        with pytest.raises(Interrupted) as caught, self.stack:
            self.shutdown.stop_if_requested()
        return str(caught.value)


@pytest.fixture
def leaving(tmp_path: Path) -> Iterator[Leaving]:
    leaving = Leaving(tmp_path)
    with leaving.stack:
        yield leaving


@pytest.mark.parametrize(("announced", "ended"), [(False, "interrupted"), (True, "preempted")])
def test_the_last_finished_step_is_mirrored_and_the_lease_given_back(
    announced: bool, ended: str, leaving: Leaving, tmp_path: Path
) -> None:
    leaving.has_finished(3)
    leaving.preemption.announced = announced
    assert leaving.leave() == (
        "the training stopped after step 3, which is mirrored; run the same command again to resume from there"
    )
    assert [manifest.step for manifest in mirror_in(tmp_path).manifests()] == [3]
    assert segments_in(tmp_path) == [(3, ended)]
    require_free(tmp_path)


CHILD = """
import sys, threading
from pathlib import Path
from schemas.config.train import TrainConfig
from tasks.checkpoints.folder_store import FolderStore
from tasks.policy.child import Channel
from tasks.train.resume.shutdown import GracefulShutdown
from tasks.train.resume.lease import acquire_training
from tasks.train.resume.preemption import Preemption
from tests.tasks.train.resume import test_shutdown
from tests.tasks.train.small_request import request_of

folder, seconds, trouble = Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
# Nothing of it is needed to leave, and to load it takes too long.
sys.modules["torch"] = None

put_new = FolderStore.put_new

def put(store, key, content):
    if "/blobs/" in key:
        if trouble == "hangs":
            threading.Event().wait()
        if trouble == "bug":
            raise RuntimeError("nobody foresaw this")
    return put_new(store, key, content)

FolderStore.put_new = put
channel = Channel(sys.stdout)
preemption = Preemption(seconds)
preemption.watch()
shutdown = GracefulShutdown(preemption, channel)
with acquire_training(request_of(TrainConfig(), folder, folder / "mirror"), folder, channel, preemption) as held:
    shutdown.with_training(held)
    if trouble != "loading":
        held.keeper.last = test_shutdown.checkpoint_of(7)
    print("{}", flush=True)
    # A step that is never over; a signal's handler cannot end it, nor an exception of a thread.
    while True:
        threading.Event().wait(0.05)
"""


def _leave(folder: Path, seconds: float, trouble: str = "none", signals: int = 1) -> tuple[int, list[tuple[str, int]]]:
    """Let a process leave that is in the middle of a step; return its exit code and why it said to have ended."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(folder), str(seconds), trouble],
        stdout=subprocess.PIPE,
        stderr=(folder / "log").open("w"),
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "{}\n", (folder / "log").read_text(encoding="utf-8")
    for _ in range(signals):
        child.send_signal(signal.SIGTERM)
    said, _ = child.communicate(timeout=LONG)
    messages = [json.loads(line) for line in said.splitlines()]
    return child.returncode, [tuple(message["failure"]) for message in messages if "failure" in message]


@pytest.mark.integration
def test_a_shutdown_within_a_step_keeps_the_step_before(tmp_path: Path) -> None:
    code, failures = _leave(tmp_path, 4.0, signals=2)
    sentence = "the training stopped after step 7, which is mirrored; run the same command again to resume from there"
    assert (code, failures) == (4, [(sentence, 4)])
    assert [manifest.step for manifest in mirror_in(tmp_path).manifests()] == [7]
    assert segments_in(tmp_path) == [(7, "interrupted")]
    require_free(tmp_path)
