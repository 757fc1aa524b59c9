"""Exclusive right to a training: from the lease to its release, with the checkpoint in between."""

import hashlib
import json
import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from schemas.disk import write_whole
from schemas.errors import GateRefused, InputError, Interrupted
from tasks.checkpoints import segments
from tasks.checkpoints.address import open_mirror
from tasks.checkpoints.checkpoint_manager import BEST, CheckpointManager
from tasks.checkpoints.lease import Lease
from tasks.checkpoints.local import LocalCheckpoint, LocalCheckpoints
from tasks.checkpoints.manifest import Manifest, parse_name
from tasks.checkpoints.mirror import Mirror
from tasks.checkpoints.segments import Ended
from tasks.policy.child import Channel
from tasks.train.request import TrainRequest
from tasks.train.resume.preemption import Preemption

CHECKPOINTS_FOLDER: Final = "checkpoints"
"""Beside the request; it outlives the process, and the next one resumes from it."""
# The name on disk stays, and so does the key in it.
SEGMENTS_FILE: Final = "stretches.json"
FRESH: Final = "fresh/"  # Key of the marker that a run has restarted this training from scratch.

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class TrainingLease:
    """A training, its checkpoints, and the lease on it."""

    mirror: Mirror
    lease: Lease
    local: LocalCheckpoints
    keeper: CheckpointManager
    folder: Path
    """Folder of the request."""
    checkpoint: Path | None
    """Checkpoint to resume from; None if training starts."""
    step: int
    """Step of that checkpoint; 0 if training starts."""

    def end(self, reason: Ended) -> None:
        """Record where and why this segment ended, and release the lease.

        Neither an unreachable mirror nor a full disk hides the original cause.
        """
        try:
            segments.end(self.mirror.store, self.mirror.root, self.lease.fencing, self.newest_step, reason)
            # Before slow work: others wait for the lease.
            self.lease.release()
            self.write_segments()
        except InputError as error:
            logger.warning("the end of this segment is not noted: %s", error)
            self.lease.release()

    @property
    def newest_step(self) -> int:
        """Return the newest step kept here or in the mirror; 0 if none is."""
        return max(self.step, self.keeper.newest_step or 0)

    def retry_best_pin(self, step: int) -> None:
        """Pin the best checkpoint in the mirror, in case the previous segment wrote it and died before pinning."""
        place = parse_name(self.mirror.pins().get(BEST, ""))
        if (place is None or place[0] != step) and (written := self.local.of_step(step)) is not None:
            self.keeper.retry_best_pin(written.folder, step)

    def write_segments(self) -> None:
        """Write the machines of all segments beside the request."""
        found = segments.read_segments(self.mirror.store, self.mirror.root)
        text = {"text": segments.describe(found), "stretches": [each.model_dump(mode="json") for each in found]}
        file = self.folder / SEGMENTS_FILE
        try:
            write_whole(file, json.dumps(text, indent=1))
        except OSError as error:
            raise InputError(
                f"{file} cannot be written ({error.strerror}); free some space and run the same command again"
            ) from error


@contextmanager
def acquire_training(
    request: TrainRequest, folder: Path, channel: Channel, preemption: Preemption
) -> Iterator[TrainingLease]:
    """Acquire the training's lease, find its newest checkpoint, and hold both until the block ends."""
    config = request.config
    mirror = open_mirror(request.mirror, request.training)
    lease = Lease.acquire(
        mirror.store,
        mirror.root,
        seconds=config.preemption.lease_seconds,
        waiting=lambda sentence, _: channel.progress(0, config.max_steps, sentence),
    )
    lease.start()
    try:
        if request.fresh is not None:
            _clear_once(mirror, folder / CHECKPOINTS_FOLDER, request.fresh)
        local = LocalCheckpoints(folder / CHECKPOINTS_FOLDER, request.training, request.base_sha256)
        newest = _newest(local, mirror, request.base_sha256, channel)
        checkpoint, step = (None, 0) if newest is None else (newest.folder, newest.manifest.step)
        # A process that was suspended and continues after its successor would treat the successor's checkpoints as
        # leftovers.
        lease.require_held()
        segments.begin(mirror.store, mirror.root, lease.fencing, step)
        keeper = CheckpointManager(
            local,
            mirror,
            lease,
            config.keep_checkpoints,
            trouble=lambda at, sentence: channel.alarm("mirror", at, sentence),
        )
        if checkpoint is not None:
            mirrored = checkpoint.name.endswith(tuple(manifest.name for manifest in mirror.manifests()))
            keeper.resume_from(checkpoint, step, mirrored=mirrored)
        held = TrainingLease(mirror, lease, local, keeper, folder, checkpoint, step)
        held.write_segments()
    except BaseException:
        lease.release()
        raise
    try:
        yield held
    except BaseException as error:
        # On a preemption, pending uploads were already awaited for as long as there was time.
        keeper.close(0.0 if preemption.noticed.is_set() else None)
        held.end(_reason(error, preemption))
        raise
    keeper.close()
    held.end("finished")


def _clear_once(mirror: Mirror, folder: Path, token: str) -> None:
    """Remove all checkpoints once per run: a run that is interrupted and repeated keeps those it made since."""
    key = f"{mirror.root}{FRESH}{hashlib.sha256(token.encode()).hexdigest()}"
    if mirror.store.list(key):
        return
    if folder.exists():
        shutil.rmtree(folder)
    mirror.clear()
    mirror.store.put_new(key, b"")


def _newest(local: LocalCheckpoints, mirror: Mirror, base: str, channel: Channel) -> LocalCheckpoint | None:
    """Return the newest verified checkpoint, of this disk or the mirror; report those that fail."""

    def place_for(manifest: Manifest) -> Path:
        folder = local.folder_of(manifest)
        # An existing one does not verify.
        shutil.rmtree(folder, ignore_errors=True)
        return folder

    def report(manifest: Manifest, sentence: str) -> None:
        channel.alarm("checkpoint", manifest.step, f"{sentence}; trying the checkpoint before")

    here = local.newest(segments.begun(mirror.store, mirror.root))
    known = None if here is None else here.manifest.place
    newer = mirror.restore_newest(place_for, base=base, newer_than=known, passed_over=report)
    return here if newer is None else LocalCheckpoint(local.folder_of(newer), newer)


def _reason(error: BaseException, preemption: Preemption) -> Ended:
    if isinstance(error, GateRefused):
        return "stopped"
    if not isinstance(error, Interrupted | KeyboardInterrupt):
        return "failed"
    return "preempted" if preemption.announced else "interrupted"
