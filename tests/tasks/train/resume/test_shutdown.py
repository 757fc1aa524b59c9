"""Shutdown within a step or at its end: the last finished step is mirrored, and the lease given back."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tasks.checkpoints.address import open_mirror
from tasks.checkpoints.lease import Lease
from tasks.checkpoints.segments import read_segments
from tests.tasks.train.small_request import TRAINING

LONG = 120
"""Seconds after which the test has failed."""
CHILD = """
import sys, threading, time
from pathlib import Path
from schemas.config.train import TrainConfig
from tasks.checkpoints.checkpoint_manager import Checkpoint
from tasks.policy.child import Channel
from tasks.train.resume.shutdown import GracefulShutdown
from tasks.train.resume.lease import acquire_training
from tasks.train.resume.preemption import Preemption
from tests.tasks.train.small_request import request_of

folder = Path(sys.argv[1])
# Nothing of it is needed to leave, and to load it takes too long.
sys.modules["torch"] = None
channel = Channel(sys.stdout)
# The step under way takes an hour: waiting for it would be in vain.
preemption = Preemption(600.0 if sys.argv[2] == "within" else 4.0)
preemption.watch()
preemption._step_began = time.monotonic() - 3600.0
preemption.step_ended()
shutdown = GracefulShutdown(preemption, channel)
with acquire_training(request_of(TrainConfig(), folder, folder / "mirror"), folder, channel, preemption) as held:
    shutdown.with_training(held)
    held.keeper.last = Checkpoint(7, {}, lambda draft: (draft / "weights").write_text("of step 7"))
    print("{}", flush=True)
    # A step that is never over; a signal's handler cannot end it, nor an exception of a thread.
    while sys.argv[2] == "within" or not preemption.noticed.is_set():
        threading.Event().wait(0.05)
    shutdown.stop_if_requested()
"""


@pytest.mark.integration
@pytest.mark.parametrize("step", ["within", "ended"])
def test_a_shutdown_keeps_the_last_finished_step(step: str, tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path), step],
        stdout=subprocess.PIPE,
        stderr=(tmp_path / "log").open("w"),
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "{}\n", (tmp_path / "log").read_text(encoding="utf-8")
    for _ in range(2):
        child.send_signal(signal.SIGTERM)
    said, _ = child.communicate(timeout=LONG)
    sentence = "the training stopped after step 7, which is mirrored; run the same command again to resume from there"
    if step == "within":
        assert (child.returncode, json.loads(said.splitlines()[-1])) == (4, {"failure": [sentence, 4]})
    else:
        # The main thread and the thread of the notice may both be first.
        assert sentence in said + (tmp_path / "log").read_text(encoding="utf-8")
    mirror = open_mirror(str(tmp_path / "mirror"), TRAINING)
    assert [manifest.step for manifest in mirror.manifests()] == [7]
    assert [(each.to_step, each.ended) for each in read_segments(mirror.store, mirror.root)] == [(7, "interrupted")]

    def refuse(sentence: str, _: float) -> None:
        raise AssertionError(sentence)

    Lease.acquire(mirror.store, mirror.root, seconds=60, waiting=refuse).release()
