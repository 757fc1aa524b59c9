"""Command `tucano score`: rewards of any model's rollouts."""

import json
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.options import UNDONE, Json
from schemas.tasks import SpecName


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
    from flows.cli.tables.prompts import print_scores
    from flows.runtime.console import say, stage_progress
    from flows.runtime.signals import interruptible
    from tasks.commerce.score_file import score_file

    with interruptible(UNDONE), stage_progress("score") as progress:
        result = score_file(rollouts, spec, store, out, progress, metrics=metrics)
    if as_json:
        typer.echo(json.dumps(result, ensure_ascii=False))
    else:
        print_scores(result)
    if out is not None:
        say(f"scored: {out}")
