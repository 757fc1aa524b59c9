"""Checkpoint manager of a running training: writes to the local disk, then to the mirror, in background threads.

Each of the two threads has at most one checkpoint in flight and the newest pending one: a slow mirror makes mirrored
checkpoints rarer, never the training slower.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, Literal, TypeVar

from schemas.errors import InputError
from tasks.checkpoints.lease import Lease, LeaseLost
from tasks.checkpoints.local import LocalCheckpoints
from tasks.checkpoints.mirror import Mirror

KEPT_LOCALLY: Final = 2
BEST: Final = "best"
"""Pin name of the checkpoint with the best adapter."""
Job = TypeVar("Job")
Kind = Literal["local", "newest", "best"]
"""Kept on the local disk only; mirrored too; or mirrored, pinned, and not replaced by a newer pending one."""


@dataclass(frozen=True)
class Checkpoint:
    """Checkpoint of a step, not yet written."""

    step: int
    metrics: Mapping[str, float]
    """Metrics of that step."""
    fill: Callable[[Path], None]
    """Writes its files into an empty folder; called in another thread."""


@dataclass(frozen=True)
class _Upload:
    folder: Path
    step: int
    kind: Kind


class LatestJobWorker(Generic[Job]):
    """Thread that runs one job at a time; a newer pending job replaces an older one of its kind."""

    def __init__(self, name: str, work: Callable[[Job], None]) -> None:
        self._work = work
        self._changed = threading.Condition()
        self._waiting: dict[str, Job] = {}
        self._current: Job | None = None
        self._closed = False
        self.failure: Exception | None = None
        """The last job's exception; None if it succeeded."""
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, job: Job, kind: str = "newest") -> None:
        """Submit a job; it replaces a pending one of the same kind."""
        with self._changed:
            # At the end, so that jobs run in the order of submission.
            self._waiting.pop(kind, None)
            self._waiting[kind] = job
            self._changed.notify_all()

    def unfinished(self) -> list[Job]:
        """Return the running job and the pending ones."""
        with self._changed:
            return [*([] if self._current is None else [self._current]), *self._waiting.values()]

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until no job is left, for at most `seconds`; return whether none is."""
        with self._changed:
            return self._changed.wait_for(lambda: self._current is None and not self._waiting, seconds)

    def close(self, seconds: float | None = None) -> None:
        """End the thread after the running job, waiting at most `seconds`; pending jobs are dropped."""
        with self._changed:
            self._waiting.clear()
            self._closed = True
            self._changed.notify_all()
        self._thread.join(seconds)

    def _run(self) -> None:
        while (job := self._next()) is not None:
            try:
                self._work(job)
            except Exception as error:  # noqa: BLE001 - a thread's last resort: whoever asked for the job raises it
                self.failure = error
            else:
                self.failure = None
            with self._changed:
                self._current = None
                self._changed.notify_all()

    def _next(self) -> Job | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            if not self._waiting:
                return None
            self._current = self._waiting.pop(next(iter(self._waiting)))
            return self._current


class CheckpointManager:
    """Checkpoints of a running training."""

    def __init__(
        self, local: LocalCheckpoints, mirror: Mirror, lease: Lease, keep_last: int, trouble: Callable[[int, str], None]
    ) -> None:
        self._local = local
        self._mirror = mirror
        self._lease = lease
        self._keep_last = keep_last
        self._trouble = trouble
        self._writer = LatestJobWorker[tuple[Checkpoint, Kind]]("checkpoint-writer", self._write)
        self._uploader = LatestJobWorker[_Upload]("checkpoint-mirror", self._upload)
        self._leaving = False
        self.seconds_to_write = 0.0
        """Seconds to write the last checkpoint to the local disk."""
        self.seconds_to_mirror: float | None = None
        """Seconds to mirror the last checkpoint; None before the first."""
        self.last: Checkpoint | None = None
        """Checkpoint of the last finished step, kept or not; None before the first."""
        self.newest_step: int | None = None
        """Newest step on the local disk; None before the first."""
        self.mirrored_step: int | None = None
        """Newest step in the mirror; None before the first."""

    def keep(self, checkpoint: Checkpoint, kind: Kind) -> None:
        """Schedule a checkpoint for keeping, unless a newer one of its kind replaces it."""
        self.raise_failure()
        self._writer.submit((checkpoint, kind), kind)

    def resume_from(self, folder: Path, step: int, *, mirrored: bool) -> None:
        """Take over a checkpoint of an earlier segment; one only on the local disk is mirrored."""
        self.newest_step = step
        if mirrored:
            self.mirrored_step = step
        else:
            self._uploader.submit(_Upload(folder, step, "newest"), "newest")

    def retry_best_pin(self, folder: Path, step: int) -> None:
        """Mirror and pin the best checkpoint of an earlier segment, which ended before doing so."""
        self._uploader.submit(_Upload(folder, step, "best"), "best")

    def leave(self) -> None:
        """Schedule the mirroring of the last finished step, and no other work that can wait."""
        self._leaving = True
        written = {checkpoint.step for checkpoint, kind in self._writer.unfinished() if kind != "local"}
        on_the_way = written | {upload.step for upload in self._uploader.unfinished()}
        if self.last is not None and self.last.step not in {self.mirrored_step, *on_the_way}:
            self.keep(self.last, "newest")

    def seconds_to_leave(self, unknown: float) -> float:
        """Return the expected seconds to mirror the last finished step."""
        if self.seconds_to_mirror is None:
            return unknown
        return self.seconds_to_write + self.seconds_to_mirror * (1 + len(self._uploader.unfinished()))

    def flush(self, seconds: float | None = None) -> bool:
        """Wait until all is written and mirrored, for at most `seconds`; return whether it is."""
        deadline = None if seconds is None else time.monotonic() + seconds
        if not self._writer.wait(seconds):
            return False
        done = self._uploader.wait(None if deadline is None else max(0.0, deadline - time.monotonic()))
        self.raise_failure()
        if done and self._uploader.failure is not None:
            raise self._uploader.failure
        return done

    def raise_failure(self) -> None:
        """Raise the error that prevents keeping checkpoints, if any."""
        if self._writer.failure is not None:
            raise self._writer.failure
        if self._lease.lost.is_set():
            self._lease.require_held()
        if isinstance(self._uploader.failure, LeaseLost):
            raise self._uploader.failure

    def pin_newest(self, name: str) -> None:
        """Pin the newest mirrored checkpoint under a name, so that later ones do not displace it."""
        newest = next(iter(self._mirror.manifests()), None)
        if newest is not None:
            self._mirror.pin(name, newest)

    def close(self, seconds: float | None = None) -> None:
        """End both threads after their running jobs, waiting at most `seconds` for each."""
        self._writer.close(seconds)
        self._uploader.close(seconds)

    def _write(self, job: tuple[Checkpoint, Kind]) -> None:
        started, (checkpoint, kind) = time.monotonic(), job
        folder = self._local.write(checkpoint.step, self._lease.fencing, checkpoint.metrics, checkpoint.fill)
        self.seconds_to_write = time.monotonic() - started
        self.newest_step = checkpoint.step
        if kind != "local":
            self._uploader.submit(_Upload(folder, checkpoint.step, kind), kind)
        self._local.keep(KEPT_LOCALLY, but=[upload.folder for upload in self._uploader.unfinished()])

    def _upload(self, upload: _Upload) -> None:
        try:
            started = time.monotonic()
            manifest = self._mirror.publish(upload.folder, before_manifest=self._lease.require_held)
            if upload.kind == "best":
                self._mirror.pin(BEST, manifest)
            self.mirrored_step = max(upload.step, self.mirrored_step or 0)
            self.seconds_to_mirror = time.monotonic() - started
        except LeaseLost:
            raise
        except Exception as error:
            self._trouble(upload.step, f"the checkpoint of step {upload.step} is on the local disk only: {error}")
            raise
        if self._leaving:
            return
        try:
            self._mirror.prune(self._keep_last)
        except InputError as error:
            self._trouble(upload.step, f"older checkpoints stay in the mirror: {error}")
