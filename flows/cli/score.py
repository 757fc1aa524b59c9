"""Command `tucano score`: rewards of any model's rollouts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import typer

from flows.cli.result import Table, show
from flows.cli.tucano import UNDONE, Json
from flows.runtime.console import say, stage_progress, warn
from flows.runtime.session import ARTIFACTS_FOLDER
from flows.runtime.signals import interruptible
from schemas.artifact import ArtifactRecord
from schemas.documents import Rollout
from schemas.errors import InputError
from schemas.json_lines import stream_json_lines
from schemas.tables.prompts import read_prompt_table
from schemas.tasks import SpecName
from tasks.commerce.score_file import score_file
from tasks.lineage.store.artifacts import RECORD_FILE, ArtifactDamaged, ArtifactStore
from tasks.lineage.store.inventory import Inventory, read_inventory, short

PROMPTS_FILE: Final = "prompts.parquet"
STORE_FOLDER: Final = "store"
ASKS: Final = "sql_qa"
"""The task whose answers are executed on a store."""


def score(
    rollouts: Annotated[Path, typer.Argument(help="JSON Lines of rollouts.")],
    spec: Annotated[SpecName, typer.Option(help="The reward specification.")] = "grounded",
    store: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the store that sql_qa's questions are about; if not given, the one that lineage knows."
        ),
    ] = None,
    state: Annotated[Path, typer.Option(metavar="FOLDER", help="The state folder, whose lineage knows stores.")] = Path(
        ".tucano"
    ),
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
            store = store_of(rollouts, state / ARTIFACTS_FOLDER)
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


def store_of(rollouts: Path, artifacts: Path) -> Path | None:
    """Return the folder of the store that a file's SQL questions are about; None where lineage knows none.

    Args:
        rollouts: The file: of an artifact, whose record leads to its prompts, or any other.
        artifacts: The artifact store in which the questions of another file are searched.

    Raises:
        InputError: The file cannot be read, a line is no rollout, or its questions are about several stores, on which
            a query may return different rows.
    """
    home = rollouts.resolve().parent.parent
    if (home / RECORD_FILE).is_file():
        inside = ArtifactStore(home.parent.parent)
        try:
            prompts = _prompts_before(inside, inside.record(home.name))
        except ArtifactDamaged as error:
            warn(f"{error}; the store is searched by the questions")
        else:
            if prompts is not None:
                return inside.path(prompts.sha256) / STORE_FOLDER
    asked = {row.prompt_id for row in stream_json_lines(rollouts, Rollout, "rollouts") if row.task == ASKS}
    if not asked:
        return None
    inventory = read_inventory(artifacts)
    found = list(_prompts_with(asked, inventory))
    if len({_tables(record) for record in found}) > 1:
        listed = ", ".join(f"{short(each.sha256)} of {each.created_at:%Y-%m-%d %H:%M}" for each in found)
        raise InputError(
            f"rollouts {rollouts}: the questions are in prompts of different stores, {listed}, and a query may return "
            f"other rows on each; name the one that was asked about with --store, such as "
            f"{inventory.folder(found[-1].sha256) / STORE_FOLDER}"
        )
    return inventory.folder(found[-1].sha256) / STORE_FOLDER if found else None


def _prompts_before(store: ArtifactStore, record: ArtifactRecord) -> ArtifactRecord | None:
    """Return the prompts that an artifact's own rows came from; its models may have learned from others."""
    while record.kind != "prompts":
        before = record.inputs.get("prompts") or record.inputs.get("dataset")
        if before is None:
            return None
        record = store.record(before)
    return record


def _prompts_with(asked: set[str], inventory: Inventory) -> Iterator[ArtifactRecord]:
    """Yield the prompts that have all of the questions, the oldest first; what cannot be read is passed over."""
    for kind, reason in inventory.unreadable.values():
        if kind == "prompts":
            warn(f"{reason}; its store is passed over")
    for record in inventory.of_kind("prompts"):
        try:
            known = read_prompt_table(inventory.folder(record.sha256) / PROMPTS_FILE)["prompt_id"]
        except InputError as error:
            warn(f"{error}; its store is passed over")
            continue
        if asked <= set(known):
            yield record


def _tables(record: ArtifactRecord) -> frozenset[tuple[str, str]]:
    """Return the files of the store of some prompts, each with its sha256."""
    return frozenset(file for file in record.files.items() if file[0].startswith(f"{STORE_FOLDER}/"))
