"""A training that this process alone may go on with: from the lease to its release, with the checkpoint in between."""

import json
import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from schemas.errors import GateRefused, InputError, Interrupted
from tasks.checkpoints import stretches
from tasks.checkpoints.address import open_mirror
from tasks.checkpoints.keeper import Keeper
from tasks.checkpoints.lease import Lease
from tasks.checkpoints.local import LocalCheckpoints, read_sealed
from tasks.checkpoints.mirror import CheckpointDamaged, Mirror
from tasks.checkpoints.stretches import Ended
from tasks.policy.child import Channel
from tasks.train.preemption import Preemption
from tasks.train.request import TrainRequest

CHECKPOINTS_FOLDER: Final = "checkpoints"
"""Beside the request; it outlives the process, and another one goes on from it."""
STRETCHES_FILE: Final = "stretches.json"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class HeldTraining:
    """A training, its checkpoints, and the right to go on with it."""

    mirror: Mirror
    lease: Lease
    keeper: Keeper
    folder: Path
    """Where the request is."""
    checkpoint: Path | None
    """What is gone on from; None where training starts."""
    step: int
    """The step after which it was saved; 0 where training starts."""

    def end(self, reason: Ended) -> None:
        """Say where and why this stretch ended, and let another process go on.

        Neither a mirror that cannot be reached any more nor a full disk hides what ended it.
        """
        try:
            stretches.end(self.mirror.store, self.mirror.root, self.lease.fencing, self.newest_step, reason)
            self.write_stretches()
        except InputError as error:
            logger.warning("the end of this stretch is not noted: %s", error)
        finally:
            self.lease.release()

    @property
    def newest_step(self) -> int:
        """The last step that is kept, here or in the mirror; 0 where none is."""
        return max(self.step, self.keeper.newest_step or 0)

    def write_stretches(self) -> None:
        """Write down on which machines the training was, beside the request.

        Raises:
            InputError: The mirror cannot be read, or the disk is full.
        """
        found = stretches.read_stretches(self.mirror.store, self.mirror.root)
        text = {"text": stretches.describe(found), "stretches": [each.model_dump(mode="json") for each in found]}
        file = self.folder / STRETCHES_FILE
        try:
            file.write_text(json.dumps(text, indent=1), encoding="utf-8")
        except OSError as error:
            raise InputError(
                f"{file} cannot be written ({error.strerror}); free some space and run the same command again"
            ) from error


@contextmanager
def held_training(
    request: TrainRequest, folder: Path, channel: Channel, preemption: Preemption
) -> Iterator[HeldTraining]:
    """Wait for the training's lease, find its newest checkpoint, and hold both until the block ends.

    Args:
        request: The training.
        folder: Where the request is.
        channel: Told what is waited for.
        preemption: A notice ends the waiting.

    Raises:
        InputError: The mirror cannot be used, or is of another training or base model.
        Interrupted: A notice came before there was anything to save.
    """
    config = request.config

    def waiting(sentence: str, _: float) -> None:
        channel.progress(0, config.max_steps, sentence)
        if preemption.noticed.is_set():
            raise Interrupted("interrupted before training went on; run the same command again")

    mirror = open_mirror(request.mirror, request.training)
    lease = Lease.acquire(
        mirror.store,
        mirror.root,
        seconds=config.preemption.lease_seconds,
        waiting=waiting,
    )
    lease.start()
    keeper: Keeper | None = None
    try:
        if request.fresh:
            mirror.clear()
            shutil.rmtree(folder / CHECKPOINTS_FOLDER, ignore_errors=True)
        local = LocalCheckpoints(folder / CHECKPOINTS_FOLDER, request.training, request.base_sha256)
        checkpoint = _newest(local, mirror, folder / CHECKPOINTS_FOLDER, request.base_sha256, channel)
        step = 0 if checkpoint is None else read_sealed(checkpoint).step
        stretches.begin(mirror.store, mirror.root, lease.fencing, step)
        keeper = Keeper(
            local,
            mirror,
            lease,
            config.keep_checkpoints,
            trouble=lambda at, sentence: channel.alarm("mirror", at, sentence),
        )
        held = HeldTraining(mirror, lease, keeper, folder, checkpoint, step)
        held.write_stretches()
    except BaseException:
        lease.release()
        raise
    try:
        yield held
    except BaseException as error:
        # Who has to leave has waited for what is under way already, as long as there was time.
        keeper.close(0.0 if preemption.noticed.is_set() else None)
        held.end(_reason(error, preemption))
        raise
    keeper.close()
    held.end("finished")


def _newest(local: LocalCheckpoints, mirror: Mirror, folder: Path, base: str, channel: Channel) -> Path | None:
    """Return the newest checkpoint that verifies, of this disk or the mirror; say which ones do not.

    Raises:
        InputError: The mirror is of another base model or cannot be read, or the disk is full.
    """
    here = local.newest(stretches.begun(mirror.store, mirror.root))
    newest_here = None if here is None else read_sealed(here)
    for manifest in mirror.manifests():
        if newest_here is not None and (newest_here.step, newest_here.fencing) >= (manifest.step, manifest.fencing):
            break
        if manifest.base != base:
            raise InputError(
                f"the checkpoints of {mirror.training} in the mirror are of another base model "
                f"({manifest.base[:12]}, here {base[:12]}); use another mirror, or start anew with --fresh"
            )
        target = folder / f"checkpoint-{manifest.name}"
        # One that is there does not verify.
        shutil.rmtree(target, ignore_errors=True)
        try:
            mirror.restore(manifest, target)
        except CheckpointDamaged as error:
            channel.alarm("checkpoint", manifest.step, f"{error}; trying the checkpoint before")
        else:
            return target
    return here


def _reason(error: BaseException, preemption: Preemption) -> Ended:
    if isinstance(error, GateRefused):
        return "stopped"
    if not isinstance(error, Interrupted | KeyboardInterrupt):
        return "failed"
    return "preempted" if preemption.announced else "interrupted"
