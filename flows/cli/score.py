"""Command `tucano score`: rewards of any model's rollouts."""

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.result import Table, show
from flows.cli.tucano import UNDONE, Json
from flows.runtime.console import stage_progress
from flows.runtime.signals import interruptible
from schemas.tasks import SpecName
from tasks.commerce.score_file import score_file


def score(
    rollouts: Annotated[Path, typer.Argument(help="JSON Lines of rollouts.")],
    spec: Annotated[SpecName, typer.Option(help="The reward specification.")] = "grounded",
    store: Annotated[Path | None, typer.Option(help="Folder of the store that sql_qa's questions are about.")] = None,
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
        result = score_file(rollouts, spec, store, out, progress, metrics=metrics)
    title = f"{result['rollouts']} rollouts, spec {result['spec']}, reward version {result['reward_version'][:12]}"
    parts: list[str | Table] = [Table(title, result["tasks"], "task=name rollouts=n reward components")]
    if metrics:
        parts.append(Table("Ground truth (no reward)", result["tasks"], "task=name metrics"))
    if out is not None:
        parts.append(f"scored: {out}")
    show(result, parts, as_json=as_json)
