"""Checkpoint of one training as the beginning of another, whose first steps are provably the same."""

import shutil
from pathlib import Path

from schemas.scratch import scratch_folder
from tasks.checkpoints import segments
from tasks.checkpoints.lease import Lease
from tasks.checkpoints.local import LocalCheckpoints
from tasks.checkpoints.manifest import MANIFEST_FILE, Manifest
from tasks.checkpoints.mirror import Mirror


def transplant(checkpoint: Path, manifest: Manifest, into: Mirror, lease_seconds: float) -> None:
    """Publish a restored checkpoint as the first of another training; one that has any is left alone.

    Args:
        checkpoint: Its folder, which may have been changed since.
        manifest: What is said of it where it comes from.
        into: The other training.
        lease_seconds: Lifetime of the lease under which this is done.

    Raises:
        InputError: The mirror cannot be written.
    """
    if into.manifests():
        return
    lease = Lease.acquire(into.store, into.root, seconds=lease_seconds)

    def fill(folder: Path) -> None:
        shutil.copytree(checkpoint, folder, ignore=shutil.ignore_patterns(MANIFEST_FILE), dirs_exist_ok=True)

    try:
        with scratch_folder() as work:
            segments.begin(into.store, into.root, lease.fencing, 0)
            local = LocalCheckpoints(work, into.training, manifest.base)
            into.publish(local.write(manifest.step, lease.fencing, manifest.metrics, fill))
            segments.end(into.store, into.root, lease.fencing, manifest.step, "finished")
    finally:
        lease.release()
