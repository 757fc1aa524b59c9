"""Worker that keeps a training's checkpoints and computes nothing; what it reports as saved is recorded outside of it.

All but the steps is the train stage's own: the lease, the search for the newest checkpoint, the two threads that write
and mirror. Each line of the ledger is written at once, so that it outlives the process.
"""

import faulthandler
import json
import logging
import os
import platform
import random
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Final, Literal, cast

import google.cloud.storage  # noqa: F401 - once, in the process that the workers are forked from

from schemas.config.train import TrainConfig
from schemas.errors import TucanoError
from tasks.checkpoints import gcs_store, segments
from tasks.checkpoints.address import open_mirror
from tasks.checkpoints.checkpoint_manager import Checkpoint
from tasks.checkpoints.local import read_sealed
from tasks.checkpoints.manifest import MANIFEST_FILE, Manifest, checkpoint_name
from tasks.checkpoints.mirror import Mirror
from tasks.checkpoints.object_store import ObjectStore
from tasks.policy.child import Channel
from tasks.train.resume import lease
from tasks.train.resume.preemption import Preemption
from tests.tasks.train.small_request import request_of

KEPT: Final = 3
"""Newest checkpoints that the mirror keeps."""
LEASE_SECONDS: Final = 4.0
STEP_SECONDS: Final = (0.05, 0.35)
SHARE_OF_BEST: Final = 0.2
"""Share of the steps whose checkpoints are pinned."""
UPLOAD_CHUNK: Final = 4 << 20
"""Part size of a large upload, instead of 32 MB: several parts of 9 MB, each of which may fail."""
HISTORY_FILE: Final = "history.json"
"""The fencing number under which each step was trained."""
Place = Literal["found", "proved", "saved"]
"""The checkpoint to resume from is found, but not recorded; the lease is proved to be held, but the manifest not
written; the checkpoint is mirrored, but not pinned, and nothing is pruned."""


@dataclass(frozen=True)
class Strike:
    """Place where a worker strikes itself: moments too short to be hit by chance."""

    place: Place
    occurrence: int
    signal: int
    """SIGKILL, or SIGSTOP: frozen."""


@dataclass(frozen=True)
class Order:
    """Parameters of one worker."""

    life: int
    """Number of this worker among those of its training."""
    machine: str
    """Name of the machine that it pretends to be on."""
    folder: Path
    steps: int
    """Number of steps after which it leaves by itself."""
    address: str
    ledger: Path
    log: Path
    seed: int
    """Seed of the training's bytes."""
    large: bool
    """Whether a file of each checkpoint is too large to be sent in one request."""
    strike: Strike | None


def live(order: Order) -> None:
    """Work until all steps are done, the lease is lost or the process is killed."""
    log = os.open(order.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.dup2(log, sys.stdout.fileno())
    os.dup2(log, sys.stderr.fileno())
    # So that a parent that waits in vain for its end can ask for the stacks.
    faulthandler.register(signal.SIGUSR1, file=log)
    os.environ["STORAGE_EMULATOR_HOST"] = order.address
    vars(platform)["node"] = lambda: order.machine
    vars(gcs_store)["UPLOAD_CHUNK"] = UPLOAD_CHUNK
    ledger = _Ledger(order.ledger, order.life)
    warnings = logging.Handler()
    warnings.emit = lambda record: ledger.note("warning", sentence=record.getMessage())  # type: ignore[method-assign]
    logging.basicConfig(level=logging.WARNING, handlers=[warnings], force=True)

    striking = _Striking(order.strike, ledger)

    begin = segments.begin

    def begin_or_die(*arguments: Any) -> None:
        striking("found")
        begin(*arguments)

    vars(lease)["open_mirror"] = lambda address, training: _Witnessed(
        open_mirror(address, training).store, training, ledger, striking
    )
    vars(segments)["begin"] = begin_or_die
    try:
        _work(order, ledger)
    except TucanoError as error:
        ledger.note("ended", kind=type(error).__name__, sentence=str(error))
    except BaseException:
        ledger.note("crashed", sentence=traceback.format_exc())
        raise
    else:
        ledger.note("ended", kind="", sentence="")


class _Ledger:
    """Records of one worker, in a file of all: each line at once, with the time by a clock that all processes share."""

    def __init__(self, path: Path, life: int) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._life = life

    def note(self, event: str, **details: Any) -> None:
        """Write a line."""
        line = {"at": time.monotonic(), "life": self._life, "event": event, **details}
        os.write(self._file, json.dumps(line).encode() + b"\n")

    def write(self, text: str) -> None:
        """Receive the worker's messages to its parent; alarms are recorded."""
        message = json.loads(text)
        if "alarm" in message:
            name, step, sentence = message["alarm"]
            self.note("alarm", name=name, step=step, sentence=sentence)

    def flush(self) -> None:
        """Every line is written already."""


class _Striking:
    def __init__(self, strike: Strike | None, ledger: _Ledger) -> None:
        self._strike = strike
        self._ledger = ledger
        self._seen = Counter[str]()

    def __call__(self, place: Place) -> None:
        """Strike, if the worker is to be struck at this place."""
        self._seen[place] += 1
        if self._strike is not None and (place, self._seen[place]) == (self._strike.place, self._strike.occurrence):
            self._ledger.note("struck", place=place)
            os.kill(os.getpid(), self._strike.signal)


class _Witnessed(Mirror):
    """A mirror whose successes are recorded."""

    def __init__(self, store: ObjectStore, training: str, ledger: _Ledger, striking: _Striking) -> None:
        super().__init__(store, "", training)
        self._ledger = ledger
        self._striking = striking

    def manifests(self) -> list[Manifest]:
        self._ledger.note("searches")
        return super().manifests()

    def publish(self, folder: Path, *, before_manifest: Callable[[], object] | None = None) -> Manifest:
        def prove() -> None:
            if before_manifest is not None:
                before_manifest()
            self._striking("proved")

        manifest = super().publish(folder, before_manifest=prove)
        self._ledger.note("saved", name=manifest.name)
        self._striking("saved")
        return manifest


def _work(order: Order, ledger: _Ledger) -> None:
    settings = {"keep_checkpoints": KEPT, "preemption": {"lease_seconds": LEASE_SECONDS}}
    request = request_of(TrainConfig.model_validate(settings), order.folder, order.folder)
    request = request.model_copy(update={"mirror": "gs://checkpoints"})
    generator = random.Random(f"{order.seed} {order.life}")
    order.folder.mkdir(parents=True, exist_ok=True)
    channel = Channel(cast("IO[str]", ledger))
    with lease.acquire_training(request, order.folder, channel, Preemption(25)) as held:
        found = None if held.checkpoint is None else read_sealed(held.checkpoint).name
        paths = [] if held.checkpoint is None else [*held.checkpoint.iterdir()]
        digests = {path.name: sha256(path.read_bytes()).hexdigest() for path in paths if path.name != MANIFEST_FILE}
        history = [] if held.checkpoint is None else json.loads((held.checkpoint / HISTORY_FILE).read_bytes())
        ledger.note("began", fencing=held.lease.fencing, found=found, digests=digests, history=history)
        for step in range(held.step + 1, held.step + order.steps + 1):
            time.sleep(generator.uniform(*STEP_SECONDS))
            history = [*history, held.lease.fencing]
            files = _files(order, history)
            digests = {name: sha256(content).hexdigest() for name, content in files.items()}
            # Before it can be saved: a process that finds it must find these bytes.
            ledger.note("made", name=checkpoint_name(step, held.lease.fencing), digests=digests)
            is_best = generator.random() < SHARE_OF_BEST
            held.keeper.keep(Checkpoint(step, {}, partial(_fill, files)), "best" if is_best else "newest")
        held.keeper.flush()


def _files(order: Order, history: list[int]) -> dict[str, bytes]:
    """Return the files of a checkpoint: one changes with every step, one with every third, one never."""
    step = len(history)

    def content(name: str, size: int) -> bytes:
        return random.Random(f"{order.seed} {name}").randbytes(size)

    return {
        "adapter.bin": content(f"adapter {history}", 20_000),
        "optimizer.bin": content(f"optimizer {step // 3}", 9 << 20 if order.large else 60_000),
        "tokenizer.bin": content("tokenizer", 5_000),
        HISTORY_FILE: json.dumps(history).encode(),
    }


def _fill(files: Mapping[str, bytes], folder: Path) -> None:
    for name, content in files.items():
        (folder / name).write_bytes(content)
