"""The `tucano` command. Everything heavy is imported by the command that needs it."""

import errno
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli_audit import app as audit_app
from flows.cli_checkpoints import app as checkpoints_app
from flows.cli_compare import compare
from flows.cli_doctor import doctor
from flows.cli_infra import app as infra_app
from flows.cli_lineage import lineage
from flows.cli_monitor import monitor
from flows.cli_promote import promote
from flows.cli_train import evaluate, train
from flows.options import UNDONE, Fresh, Json, Overrides, Profile
from schemas.errors import InputError, TucanoError
from schemas.tasks import SpecName

if TYPE_CHECKING:
    from flows.retrain import Retraining
    from schemas.config import Config
    from tasks.curate.processes import MapShards

app = typer.Typer(
    name="tucano",
    help="Retrain a compact Portuguese model for Brazilian e-commerce, and prove that it got better.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(audit_app)
app.add_typer(checkpoints_app)
app.add_typer(infra_app)

REPORT_MIX = "extraction=40,sql_qa=40,insights=10,push=10"
OPTIONS_OF_THEIR_OWN = {
    "source": "--source",
    "olist_dir": "--olist-dir",
    "orders": "--orders",
    "counts": "--count and --mix",
}
"""Settings that `tucano synthesize` takes as options only, so that what it says it makes is what it makes."""
DISK_ERRORS = {errno.ENOSPC, errno.EACCES, errno.EPERM, errno.EROFS, errno.EDQUOT}


@app.callback()
def root() -> None:
    """Hold the commands together; Typer would otherwise make a lone command the whole program."""


@app.command()
def retrain(
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    fresh: Fresh = False,
    as_json: Json = False,
) -> None:
    """Retrain, end to end. Run again, it resumes: finished stages are skipped."""
    from flows.console import print_retraining, say
    from flows.get_ready import get_ready
    from flows.interruption import told_about_fresh
    from flows.session import BYTES_NEEDED, session
    from schemas.profiles import load_config

    config = load_config(profile, overrides)
    say(f"retraining with profile {profile}, seed {config.seed}, state in {config.state.root}")
    with told_about_fresh(fresh), session(config, bytes_needed=BYTES_NEEDED, meanwhile=lambda: get_ready(config)):
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
    out: Annotated[
        Path | None, typer.Option(help="Where the scored rollouts go, as JSON Lines; replaced if there.")
    ] = None,
    metrics: Annotated[
        bool, typer.Option("--metrics", help="Measure the ground truth too, which is no reward.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Score rollouts of any model with the rewards."""
    from flows.console import print_scores, say, stage_progress
    from flows.interruption import interruptible
    from tasks.commerce.score_file import score_file

    with interruptible(UNDONE), stage_progress("score") as progress:
        result = score_file(rollouts, spec, store, out, progress, metrics=metrics)
    if as_json:
        typer.echo(json.dumps(result, ensure_ascii=False))
    else:
        print_scores(result)
    if out is not None:
        say(f"scored: {out}")


@app.command()
def synthesize(
    count: Annotated[int, typer.Option(help="Prompts to make, split by the mix.")],
    out: Annotated[Path, typer.Option(help="The folder to write: new or empty.")],
    source: Annotated[str, typer.Option(help="simulated, or olist.")] = "simulated",
    olist_dir: Annotated[Path | None, typer.Option(help="The folder of Olist's CSV files, as Kaggle ships it.")] = None,
    seed: Annotated[int, typer.Option(help="Where all randomness comes from.")] = 42,
    mix: Annotated[str, typer.Option(help="Weights of the tasks.")] = REPORT_MIX,
    orders: Annotated[
        int | None, typer.Option(help="Orders in a simulated store; one a prompt, 1,500 to 100,000, where not given.")
    ] = None,
    overrides: Annotated[
        list[str], typer.Option("--set", help="Override one value: synthesize.a=b. May be given several times.")
    ] = [],  # noqa: B006 - Typer reads the default and never changes it
    state: Annotated[Path, typer.Option(help="The state folder: it keeps a paraphrasing model's answers.")] = Path(
        ".tucano"
    ),
    as_json: Json = False,
) -> None:
    """Make a store, simulated or Olist's, and prompts with references from it."""
    from flows.console import print_synthesis, say, stage_progress
    from flows.new_folder import new_folder
    from schemas.profiles import synthesize_config
    from tasks.synthesize.mix import read_mix, split_count

    if count < 1 or seed < 0:
        raise InputError(f"--count {count} --seed {seed}: give a count of 1 or more and a seed of 0 or more")
    if (source == "olist") != (olist_dir is not None):
        raise InputError("--source olist and --olist-dir FOLDER go together; give both or neither")
    if source == "olist" and orders is not None:
        raise InputError("--orders is for a simulated store; Olist's is as large as it is")
    for assignment in overrides:
        named = assignment.partition("=")[0].strip().removeprefix("synthesize.").partition(".")[0].strip()
        if named in OPTIONS_OF_THEIR_OWN:
            raise InputError(f"--set synthesize.{named} has an option of its own; use {OPTIONS_OF_THEIR_OWN[named]}")
    counts = split_count(count, read_mix(mix))
    section = {"source": source, "olist_dir": olist_dir, "orders": orders, "counts": counts}
    config = synthesize_config(section, overrides)
    store = f"a store of {config.orders_to_simulate} simulated orders" if source == "simulated" else str(olist_dir)
    say(f"making {count} prompts from {store}, seed {seed}")
    started = time.monotonic()
    with new_folder(out) as draft:
        from tasks.synthesize import stage

        with stage_progress("synthesize") as progress:
            summary = stage.run(config, seed, draft, progress, state)
    seconds = time.monotonic() - started
    print_synthesis(summary)
    say(f"prompts and store in {out}, in {seconds:.1f} s")
    if as_json:
        typer.echo(json.dumps({**summary, "out": str(out), "seconds": round(seconds, 3)}, ensure_ascii=False))


@app.command()
def curate(
    prompts: Annotated[
        Path, typer.Argument(help="A folder of `tucano synthesize`, a prompt table, or JSON Lines of your own prompts.")
    ],
    out: Annotated[Path, typer.Option(help="The folder to write: new or empty.")],
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    as_json: Json = False,
) -> None:
    """Make one dataset of prompts: checked, scrubbed, without copies, split without leakage."""
    from flows.console import print_curation, say, stage_progress
    from flows.new_folder import new_folder
    from schemas.profiles import load_config

    config = load_config(profile, overrides, makes_prompts=False)
    started = time.monotonic()
    with new_folder(out) as draft, _workers(config) as map_shards, stage_progress("curate") as progress:
        from tasks.curate import stage

        # A cluster's workers stand in folders of their own.
        given = prompts.absolute()
        summary = stage.run(config.curate, config.policy, given, draft, progress, map_shards)
    seconds = time.monotonic() - started
    print_curation(summary)
    say(f"dataset in {out}, in {seconds:.1f} s; its card is {out / 'README.md'}")
    if as_json:
        typer.echo(json.dumps({**summary, "out": str(out), "seconds": round(seconds, 3)}, ensure_ascii=False))


app.command()(train)
app.command()(evaluate)
app.command()(compare)
app.command()(promote)
app.command()(monitor)
app.command()(lineage)
app.command()(doctor)


@app.command()
def ui(
    root: Annotated[Path, typer.Option(help="The state folder.")] = Path(".tucano"),
    prefect_port: Annotated[int, typer.Option(min=1, max=65535)] = 4200,
    mlflow_port: Annotated[int, typer.Option(min=1, max=65535)] = 5000,
) -> None:
    """Serve Prefect's and MLflow's pages on loopback, until Ctrl-C."""
    from flows.ui import serve

    serve(root, prefect_port, mlflow_port)


@contextmanager
def _workers(config: "Config") -> Iterator["MapShards"]:
    """Give whoever works on shards; only Dask's needs Prefect, and with it the state folder."""
    if config.curate.runner == "processes":
        from tasks.curate.processes import in_processes

        yield in_processes(config.curate.workers)
        return
    from flows.interruption import interruptible
    from flows.session import BYTES_NEEDED, session

    # A session's own sentence promises that what was done is kept.
    with session(config, bytes_needed=BYTES_NEEDED), interruptible(UNDONE):
        from flows.shard_runners import map_shards

        yield map_shards(config.curate)


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
        place = error.filename or "a file"
        _end(InputError(f"{place} cannot be written: {error.strerror}; mend that, and run the same command again"))


def _end(error: TucanoError) -> None:
    from flows.console import say

    say(f"tucano: {error}")
    sys.exit(error.exit_code)
