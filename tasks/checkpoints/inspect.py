"""Inspection of a mirror by hand: choice and verification of checkpoints, and what must not be pushed or pruned."""

from collections.abc import Sequence
from typing import Any, Final

from schemas.errors import InputError
from schemas.progress import Progress
from tasks.checkpoints.manifest import Manifest
from tasks.checkpoints.mirror import CheckpointDamaged, Mirror

MEGABYTE: Final = 1_000_000


def complete_name(beginning: str, names: Sequence[str], address: str) -> str:
    """Return the training of that name, or else the only one whose name begins so."""
    if beginning in names:
        return beginning
    found = [name for name in names if name.startswith(beginning)]
    if len(found) == 1:
        return found[0]
    if not found:
        listed = ", ".join(names) or "none"
        raise InputError(f"{address} has no training {beginning!r}; choose among those that it has: {listed}")
    raise InputError(
        f"--training {beginning} is how {len(found)} trainings begin; write more of it: {', '.join(found)}"
    )


def choose_checkpoint(mirror: Mirror, step: int | None, pin: str | None) -> Manifest:
    """Return the manifest of a pinned checkpoint, or else of the checkpoint of a step."""
    manifests = mirror.manifests()
    if pin is None:
        found = [manifest for manifest in manifests if manifest.step == step]
        wanted = f"checkpoint of step {step}"
    else:
        name = mirror.pins().get(pin)
        found = [manifest for manifest in manifests if manifest.name == name]
        wanted = f"checkpoint pinned as {pin}"
    if not found:
        steps = ", ".join(str(manifest.step) for manifest in manifests) or "none"
        raise InputError(f"training {mirror.training} has no {wanted}; its checkpoints are of the steps: {steps}")
    return found[0]


def verify_checkpoints(
    mirrors: Sequence[Mirror], step: int | None, progress: Progress
) -> dict[str, list[dict[str, Any]]]:
    """Read and hash every file of every checkpoint that a training kept on its path; the newest come first."""
    checked: dict[str, list[dict[str, Any]]] = {mirror.training: [] for mirror in mirrors}
    whole: list[tuple[Mirror, Manifest]] = []
    for mirror in mirrors:
        manifests, damaged = mirror.inspect()
        whole += [(mirror, manifest) for manifest in manifests if step in {None, manifest.step}]
        for (of_step, fencing), problem in damaged.items():
            if step in {None, of_step}:
                checked[mirror.training].append({"step": of_step, "fencing": fencing, "problem": problem})
    done, total = 0, sum(size_of(manifest) for _, manifest in whole)
    for mirror, manifest in whole:
        progress(done // MEGABYTE, total // MEGABYTE, f"MB; step {manifest.step}")
        row: dict[str, Any] = {"step": manifest.step, "fencing": manifest.fencing, "problem": None}
        try:
            mirror.verify(manifest)
        except CheckpointDamaged as error:
            row["problem"] = str(error)
        checked[mirror.training].append(row)
        done += size_of(manifest)
    for rows in checked.values():
        rows.sort(key=lambda row: (row["step"], row["fencing"]), reverse=True)
    return checked


def size_of(manifest: Manifest) -> int:
    """Return the size of a checkpoint's files in bytes."""
    return sum(file.size for file in manifest.files.values())
