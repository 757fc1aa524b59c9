"""Command `tucano score`: rewards of any model's rollouts."""

from pathlib import Path
from typing import Annotated, Final

import typer

from flows.cli.result import Table, show
from flows.cli.tucano import UNDONE, Json
from flows.runtime.console import say, stage_progress, warn
from flows.runtime.signals import interruptible
from schemas.tasks import SpecName
from tasks.commerce.score_file import score_file
from tasks.lineage.store.artifacts import RECORD_FILE, ArtifactDamaged, ArtifactStore

STORE_FOLDER: Final = "store"


def score(
    rollouts: Annotated[Path, typer.Argument(help="JSON Lines of rollouts.")],
    spec: Annotated[SpecName, typer.Option(help="The reward specification.")] = "grounded",
    store: Annotated[
        Path | None,
        typer.Option(help="Folder of the store that sql_qa's questions are about; an artifact's own if not given."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where the scored rollouts go, as JSON Lines; replaced if there.")
    ] = None,
    metrics: Annotated[
        bool, typer.Option("--metrics", help="Measure the ground truth too, which is no reward.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Score rollouts of any model with the rewards."""
    with interruptible(UNDONE), stage_progress("score") as progress:
        if store is None and rollouts.is_file():
            store = store_of(rollouts)
            if store is not None:
                say(f"store, by lineage: {store}")
        result = score_file(rollouts, spec, store, out, progress, metrics=metrics)
    title = f"{result['rollouts']} rollouts, spec {result['spec']}, reward version {result['reward_version'][:12]}"
    parts: list[str | Table] = [Table(title, result["tasks"], "task=name rollouts=n reward components")]
    if metrics:
        parts.append(Table("Ground truth (no reward)", result["tasks"], "task=name metrics"))
    if out is not None:
        parts.append(f"scored: {out}")
    show(result, parts, as_json=as_json)


def store_of(rollouts: Path) -> Path | None:
    """Return the store of the prompts that an artifact's file answers; None of any other file."""
    home = rollouts.resolve().parent.parent
    if not (home / RECORD_FILE).is_file():
        return None
    store = ArtifactStore(home.parent.parent)
    try:
        record = store.record(home.name)
        # An artifact's own rows came from these; its models may have learned from others.
        while record.kind != "prompts":
            before = record.inputs.get("prompts") or record.inputs.get("dataset")
            if before is None:
                return None
            record = store.record(before)
    except ArtifactDamaged as error:
        warn(f"{error}; name the store of these rollouts with --store")
        return None
    return store.path(record.sha256) / STORE_FOLDER
