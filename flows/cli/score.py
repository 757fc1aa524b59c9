"""Command `tucano score`: rewards of any model's rollouts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.cli.options import UNDONE, Json, emit
from flows.cli.score_store import store_of
from flows.runtime.console import print_table, show, stage_progress
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
        _print_scores(result)
    if out is not None:
        show(f"scored: {out}")


def _print_scores(result: Mapping[str, Any]) -> None:
    """Print what the rollouts of each task came to, and the ground truth where it was measured."""
    components = {task: _figures(scores["components"]) for task, scores in result["tasks"].items()}
    print_table(
        f"{result['rollouts']} rollouts, spec {result['spec']}, reward version {result['reward_version'][:12]}",
        ("task", "rollouts", "reward", "components"),
        [(task, str(s["n"]), f"{s['reward']:.3f}", components[task]) for task, s in result["tasks"].items()],
        texts=("components",),
    )
    measured = {task: scores["metrics"] for task, scores in result["tasks"].items() if scores.get("metrics")}
    if measured:
        rows = [(task, _figures(metrics)) for task, metrics in measured.items()]
        print_table("Ground truth (no reward)", ("task", "metrics"), rows, texts=("metrics",))


def _figures(values: Mapping[str, float]) -> str:
    return "  ".join(f"{name} {value:.3f}" for name, value in values.items())
