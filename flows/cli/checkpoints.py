"""Commands `tucano checkpoints`: list, verify, pull and prune the checkpoints of a mirror."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer
from rich.filesize import decimal

from flows.cli.result import Table, cell, new_folder, show
from flows.cli.tucano import LOOKED, Json, Overrides, Profile, StateFolder, configured, group
from flows.runtime.console import stage_progress
from flows.runtime.signals import interruptible
from schemas.errors import GateRefused, InputError
from tasks.checkpoints.address import open_mirror, require_folder, trainings
from tasks.checkpoints.inspect import choose_checkpoint, complete_name, size_of, verify_checkpoints
from tasks.checkpoints.lease import holder
from tasks.checkpoints.manifest import REWARD, Manifest
from tasks.checkpoints.mirror import Mirror
from tasks.checkpoints.segments import describe, read_segments

app = group("checkpoints")

PRUNED_IN_PART = "interrupted, and every checkpoint that is left is whole; the same command resumes"
FENCING: Final = "Fencing: which writer made it; a machine that takes a training over has a higher number"
EMPTY: Final = "is empty: it has no checkpoints, and no training writes to it"

Pin = Literal["best", "final"]
"""Names under which a training keeps checkpoints whatever their age."""
Address = Annotated[str, typer.Argument(metavar="MIRROR", help="A folder, or gs://bucket/prefix.")]
Known = Annotated[str | None, typer.Argument(metavar="MIRROR", help="A folder or gs:// address; else the profile's.")]
Training = Annotated[str | None, typer.Option(help="Only this training: its name, or how the name begins.")]
Keep = Annotated[int, typer.Option(min=1, help="Newest checkpoints of each training to keep.")]
Step = Annotated[int | None, typer.Option(min=0, help="Only the checkpoint of this step.")]


@app.command("list")
def list_checkpoints(
    mirror: Known = None,
    training: Training = None,
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    as_json: Json = False,
) -> None:
    """List the checkpoints of each training, which machines made them, and who works on it now."""
    mirror = mirror or _configured_mirror(profile, overrides, state)
    with interruptible(LOOKED):
        trainings = [_as_document(opened) for opened in _open(mirror, training)]
    show({"mirror": mirror, "trainings": trainings}, _listed(mirror, trainings), as_json=as_json)


def _listed(mirror: str, trainings: Sequence[Mapping[str, Any]]) -> Iterator[str | Table]:
    """Yield each training's checkpoints, newest first, then its history and who works on it now."""
    if not trainings:
        yield f"{mirror} {EMPTY}"
    for training in trainings:
        yield f"training {training['training']}"
        if training["checkpoints"]:
            reward = f"{REWARD}=metrics.{REWARD}"
            yield Table(FENCING, training["checkpoints"], f"step fencing pins {reward} files bytes created_at")
        else:
            yield "no checkpoint yet"
        if training["history"]:
            yield f"steps: {training['history']}"
        if lease := training["lease"]:
            yield (
                f"lease: process {lease['process']} on {lease['machine']}, last heard of at {cell(lease['heard_at'])} "
                f"UTC; lost after {lease['seconds']:g} s of silence"
            )


@app.command()
def verify(
    mirror: Known = None,
    training: Training = None,
    step: Step = None,
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    as_json: Json = False,
) -> None:
    """Read and hash every file of every checkpoint; exit code 3 where one is not whole."""
    mirror = mirror or _configured_mirror(profile, overrides, state)
    with interruptible(LOOKED), stage_progress("verify") as progress:
        checked = verify_checkpoints(_open(mirror, training), step, progress)
    rows = [row for rows in checked.values() for row in rows]
    if not rows and step is not None:
        raise InputError(f"{mirror} has no checkpoint of step {step}; list them with: tucano checkpoints list {mirror}")
    damaged = [row for row in rows if row["problem"]]
    judged = {name: [{**row, "verdict": row["problem"] or "whole"} for row in found] for name, found in checked.items()}
    tables = [Table(f"training {name}", found, "step fencing verdict") for name, found in judged.items() if found]
    document = {"mirror": mirror, "whole": not damaged, "trainings": checked}
    show(document, tables if checked else [f"{mirror} {EMPTY}"], as_json=as_json)
    if damaged:
        raise GateRefused(
            f"{len(damaged)} of {len(rows)} checkpoints in {mirror} are not whole; a training that resumes passes them "
            "over, and publishes again what it comes to again"
        )


@app.command()
def pull(
    out: Annotated[Path, typer.Option(help="The folder to write: new or empty.")],
    mirror: Known = None,
    training: Training = None,
    step: Step = None,
    pin: Annotated[Pin | None, typer.Option(help="The checkpoint that is kept under this name.")] = None,
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    as_json: Json = False,
) -> None:
    """Copy one checkpoint to a folder: the newest whole one, that of a step, or a pinned one."""
    if step is not None and pin is not None:
        raise InputError(f"--step {step} and --pin {pin} name two checkpoints; give one of them")
    mirror = mirror or _configured_mirror(profile, overrides, state)
    with new_folder(out) as draft:
        manifest = _restore(_open_one(mirror, training), step, pin, draft)
        restored = draft / manifest.name
        for path in list(restored.iterdir()):
            path.rename(draft / path.name)
        restored.rmdir()
    document = {"mirror": mirror, **_identity(manifest), "out": str(out)}
    what = f"step {manifest.step} of {manifest.training} ({len(manifest.files)} files, {decimal(size_of(manifest))})"
    show(document, [f"pulled {what}, from {mirror} to {out}"], as_json=as_json)


@app.command()
def prune(mirror: Address, training: Training = None, keep: Keep = 3, as_json: Json = False) -> None:
    """Remove all but the newest checkpoints and the pinned ones, and then the bytes that none has had for an hour."""
    with interruptible(PRUNED_IN_PART), stage_progress("prune") as progress:
        mirrors = _open(mirror, training)
        removed: list[dict[str, Any]] = []
        for number, opened in enumerate(mirrors):
            progress(number, len(mirrors), opened.training)
            pruned = opened.prune(keep)
            counts = {"checkpoints": pruned.manifests, "blobs": pruned.blobs, "bytes": pruned.bytes}
            removed.append({"training": opened.training, **counts})
    done = Table("Removed", removed, "training checkpoints blobs bytes") if removed else f"{mirror} {EMPTY}"
    show({"mirror": mirror, "trainings": removed}, [done], as_json=as_json)


def _configured_mirror(profile: str, overrides: Sequence[str], state: Path | None) -> str:
    from flows.runtime.session import mirror_address  # noqa: PLC0415 - not for a mirror that is named

    return mirror_address(configured(profile, overrides, state))


def _open(address: str, training: str | None) -> list[Mirror]:
    """Open the mirror of each requested training; a folder or training that is not there is refused."""
    require_folder(address)
    names = trainings(address) if training is None else [complete_name(training, trainings(address), address)]
    return [open_mirror(address, name) for name in names]


def _open_one(address: str, training: str | None) -> Mirror:
    if not (mirrors := _open(address, training)):
        raise InputError(f"{address} has no checkpoint to pull; give the mirror that the training wrote to")
    if len(mirrors) > 1:
        names = ", ".join(mirror.training for mirror in mirrors)
        raise InputError(f"{address} has {len(mirrors)} trainings; choose one by --training: {names}")
    return mirrors[0]


def _restore(mirror: Mirror, step: int | None, pin: Pin | None, folder: Path) -> Manifest:
    """Write the requested checkpoint to a folder of its own name inside the given one."""
    if step is None and pin is None:
        if (newest := mirror.restore_newest(lambda manifest: folder / manifest.name)) is None:
            raise InputError(f"training {mirror.training} has no checkpoint that is whole; pull from another mirror")
        return newest
    chosen = choose_checkpoint(mirror, step, pin)
    mirror.restore(chosen, folder / chosen.name)
    return chosen


def _as_document(mirror: Mirror) -> dict[str, Any]:
    pins = mirror.pins()
    segments, held_by = read_segments(mirror.store, mirror.root), holder(mirror.store, mirror.root)
    return {
        "training": mirror.training,
        "checkpoints": [
            {**_identity(manifest), "pins": sorted(pin for pin, name in pins.items() if name == manifest.name)}
            for manifest in mirror.manifests()
        ],
        # The key in the JSON document stays.
        "stretches": [segment.model_dump(mode="json") for segment in segments],
        "history": describe(segments),
        "lease": held_by
        and {
            "machine": held_by.owner.machine,
            "process": held_by.owner.process,
            "heard_at": held_by.heard_at.isoformat(),
            "seconds": held_by.seconds,
        },
    }


def _identity(manifest: Manifest) -> dict[str, Any]:
    return {
        "training": manifest.training,
        "step": manifest.step,
        "fencing": manifest.fencing,
        "created_at": manifest.created_at.isoformat(),
        # As in the manifest: JSON has no value for numbers that are not finite.
        "metrics": json.loads(manifest.model_dump_json(include={"metrics"}))["metrics"],
        "files": len(manifest.files),
        "bytes": size_of(manifest),
    }
