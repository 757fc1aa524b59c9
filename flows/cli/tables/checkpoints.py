"""Terminal output of `tucano checkpoints`: checkpoints with history, integrity, and removals."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from rich.filesize import decimal

from flows.runtime.console import print_table, show
from tasks.checkpoints.manifest import REWARD

FENCING: Final = "fencing: which writer made it; a machine that takes a training over has a higher number"


def print_checkpoints(mirror: str, trainings: Sequence[Mapping[str, Any]]) -> None:
    """Print each training's checkpoints, newest first, then its history and who works on it now."""
    if not trainings:
        show(_empty(mirror))
    for training in trainings:
        show(f"training {training['training']}")
        if training["checkpoints"]:
            _print_checkpoints_of(training["checkpoints"])
        else:
            show("no checkpoint yet")
        if training["history"]:
            show(f"steps: {training['history']}")
        if lease := training["lease"]:
            show(
                f"lease: process {lease['process']} on {lease['machine']}, last heard of at "
                f"{_utc(lease['heard_at']):%Y-%m-%d %H:%M:%S} UTC; lost after {lease['seconds']:g} s of silence"
            )
    if any(training["checkpoints"] for training in trainings):
        show(FENCING)


def _print_checkpoints_of(checkpoints: Sequence[Mapping[str, Any]]) -> None:
    validated = any(REWARD in checkpoint["metrics"] for checkpoint in checkpoints)
    print_table(
        "",
        ("step", "fencing", "pins", *([REWARD] if validated else []), "files", "size", "created (UTC)"),
        [
            (
                str(checkpoint["step"]),
                str(checkpoint["fencing"]),
                ", ".join(checkpoint["pins"]),
                *([_reward(checkpoint["metrics"])] if validated else []),
                str(checkpoint["files"]),
                decimal(checkpoint["bytes"]),
                f"{_utc(checkpoint['created_at']):%Y-%m-%d %H:%M}",
            )
            for checkpoint in checkpoints
        ],
        texts=("pins",),
    )


def _reward(metrics: Mapping[str, Any]) -> str:
    return f"{float(metrics[REWARD]):.3f}" if REWARD in metrics else ""


def print_verified(mirror: str, trainings: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Print a row for each checkpoint: that it is whole, or what is wrong with it."""
    if not trainings:
        show(_empty(mirror))
    for training, checkpoints in trainings.items():
        if not checkpoints:
            continue
        show(f"training {training}")
        print_table(
            "",
            ("step", "fencing", "verdict"),
            [
                (
                    str(checkpoint["step"]),
                    str(checkpoint["fencing"]),
                    checkpoint["problem"] or "whole",
                )
                for checkpoint in checkpoints
            ],
            texts=("verdict",),
        )
    if any(trainings.values()):
        show(FENCING)


def print_pruned(mirror: str, trainings: Sequence[Mapping[str, Any]]) -> None:
    """Print what was removed of each training."""
    if not trainings:
        show(_empty(mirror))
        return
    print_table(
        "Removed",
        ("training", "checkpoints", "blobs", "size"),
        [
            (pruned["training"], str(pruned["checkpoints"]), str(pruned["blobs"]), decimal(pruned["bytes"]))
            for pruned in trainings
        ],
    )


def _utc(moment: str) -> datetime:
    return datetime.fromisoformat(moment).astimezone(UTC)


def _empty(mirror: str) -> str:
    return f"{mirror} is empty: it has no checkpoints, and no training writes to it"
