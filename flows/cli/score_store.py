"""Store that a file of rollouts asks about, found by lineage, so that nobody types its path."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from schemas.artifact import ArtifactRecord
from schemas.documents import Rollout
from schemas.json_lines import stream_json_lines
from schemas.tables.prompts import read_prompt_table
from tasks.lineage.store.artifacts import ArtifactDamaged, ArtifactStore

PROMPTS_FILE: Final = "prompts.parquet"
STORE_FOLDER: Final = "store"
ASKS: Final = "sql_qa"
"""The task whose answers are executed on a store."""


def store_of(rollouts: Path, artifacts: Path) -> Path | None:
    """Return the folder of the store that a file's SQL questions are about; None where lineage knows none.

    Args:
        rollouts: The file: of an artifact, whose record leads to its prompts, or any other.
        artifacts: The artifact store in which the questions of another file are searched.

    Raises:
        InputError: The file cannot be read, or a line is no rollout.
    """
    home = rollouts.resolve().parent.parent
    inside = ArtifactStore(home.parent.parent)
    try:
        prompts = _prompts_before(inside, inside.record(home.name))
    except ArtifactDamaged:
        prompts = None
    if prompts is not None:
        return inside.path(prompts.sha256) / STORE_FOLDER
    asked = {row.prompt_id for row in stream_json_lines(rollouts, Rollout, "rollouts") if row.task == ASKS}
    return next(_stores_with(asked, ArtifactStore(artifacts)), None) if asked else None


def _prompts_before(store: ArtifactStore, record: ArtifactRecord) -> ArtifactRecord | None:
    """Return the prompts that an artifact came from, by way of its inputs."""
    waiting, seen = [record], set[str]()
    while waiting:
        known = waiting.pop()
        if known.kind == "prompts":
            return known
        new = [sha256 for sha256 in known.inputs.values() if sha256 not in seen]
        seen.update(new)
        waiting += [store.record(sha256) for sha256 in new]
    return None


def _stores_with(asked: set[str], store: ArtifactStore) -> Iterator[Path]:
    """Yield the stores of the prompts that have all of the questions, the newest first."""
    for record in store.records("prompts"):
        folder = store.path(record.sha256)
        if asked <= set(read_prompt_table(folder / PROMPTS_FILE)["prompt_id"]):
            yield folder / STORE_FOLDER
