"""Command `tucano score`: rewards of any model's rollouts."""

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.options import UNDONE, Json, emit
from flows.cli.score_store import store_of
from flows.cli.tables.score import print_scores
from flows.runtime.console import show, stage_progress
from flows.runtime.session import ARTIFACTS_FOLDER
from flows.runtime.signals import interruptible
from schemas.tasks import SpecName
from tasks.commerce.score_file import score_file


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
                show(f"store, by lineage: {store}")
        result = score_file(rollouts, spec, store, out, progress, metrics=metrics)
    emit(result, as_json=as_json)
    if not as_json:
        print_scores(result)
    if out is not None:
        show(f"scored: {out}")
