"""The `tucano` command. Everything heavy is imported by the command that needs it."""

import errno
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from schemas.errors import InputError, TucanoError
from schemas.tasks import SpecName

if TYPE_CHECKING:
    from flows.retrain import Retraining

app = typer.Typer(
    name="tucano",
    help="Retrain a compact Portuguese model for Brazilian e-commerce, and prove that it got better.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

BYTES_NEEDED = 1_000_000_000
DISK_ERRORS = {errno.ENOSPC, errno.EACCES, errno.EPERM, errno.EROFS, errno.EDQUOT}

Profile = Annotated[str, typer.Option(help="A profile of infra/profiles, or a path to a TOML file.")]
Overrides = Annotated[list[str], typer.Option("--set", help="Override one value: a.b=c. May be given several times.")]


@app.callback()
def root() -> None:
    """Hold the commands together; Typer would otherwise make a lone command the whole program."""


@app.command()
def retrain(
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    fresh: Annotated[bool, typer.Option("--fresh", help="Make every stage again, and train from the start.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON document on stdout.")] = False,
) -> None:
    """Retrain, end to end. Run again, it resumes: finished stages are skipped."""
    from flows.console import print_retraining, say
    from flows.session import session
    from schemas.config import load_config

    config = load_config(profile, overrides)
    say(f"retraining with profile {profile}, seed {config.seed}, state in {config.state.root}")
    with session(config, bytes_needed=BYTES_NEEDED):
        from flows.retrain import retrain as flow

        result = flow(config, fresh=fresh)
    print_retraining(result)
    if as_json:
        typer.echo(json.dumps(_as_document(result), ensure_ascii=False))
    if result.decision["verdict"] != "promote":
        raise typer.Exit(3)


@app.command()
def score(
    rollouts: Annotated[Path, typer.Argument(help="JSON Lines of rollouts.")],
    spec: Annotated[SpecName, typer.Option(help="The reward specification.")] = "grounded",
    store: Annotated[Path | None, typer.Option(help="Folder of the store that sql_qa's questions are about.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where the scored rollouts go, as JSON Lines.")] = None,
    metrics: Annotated[
        bool, typer.Option("--metrics", help="Measure the ground truth too, which is no reward.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON document on stdout.")] = False,
) -> None:
    """Score rollouts of any model with the rewards."""
    from flows.console import print_scores, say, stage_progress
    from tasks.commerce.score_file import score_file

    with stage_progress("score") as progress:
        result = score_file(rollouts, spec, store, out, progress, metrics=metrics)
    if as_json:
        typer.echo(json.dumps(result, ensure_ascii=False))
    else:
        print_scores(result)
    if out is not None:
        say(f"scored: {out}")


@app.command()
def ui(
    root: Annotated[Path, typer.Option(help="The state folder.")] = Path(".tucano"),
    prefect_port: Annotated[int, typer.Option(min=1, max=65535)] = 4200,
    mlflow_port: Annotated[int, typer.Option(min=1, max=65535)] = 5000,
) -> None:
    """Serve Prefect's and MLflow's pages on loopback, until Ctrl-C."""
    from flows.ui import serve

    serve(root, prefect_port, mlflow_port)


def _as_document(result: "Retraining") -> dict[str, Any]:
    return {
        "seconds": result.seconds,
        "stages": {
            name: {
                "sha256": stage.record.sha256,
                "path": str(stage.path),
                "seconds": stage.seconds,
                "reused": stage.reused,
            }
            for name, stage in result.stages.items()
        },
        "decision": result.decision,
        "evaluation": {"overall": result.report["overall"], "tasks": result.report["tasks"]},
    }


def main() -> None:
    """Run the command; a failure that its user can mend is one sentence and an exit code."""
    try:
        app()
    except TucanoError as error:
        _end(error)
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        _end(InputError(f"{error.filename or 'a file'} cannot be written: {error.strerror}; what was finished is kept"))


def _end(error: TucanoError) -> None:
    from flows.console import say

    say(f"tucano: {error}")
    sys.exit(error.exit_code)
