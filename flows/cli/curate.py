"""Command `tucano curate`: one dataset of prompts."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.options import UNDONE, Json, Overrides, Profile, StateFolder, configured, emit
from flows.cli.output_folder import new_folder
from flows.cli.tables.prompts import print_curation
from flows.runtime.console import show, stage_progress
from flows.runtime.session import BYTES_NEEDED, recorded, session
from flows.runtime.signals import interruptible
from schemas.config.config import Config
from tasks.curate import stage
from tasks.curate.processes import MapShards, in_processes


def curate(
    prompts: Annotated[
        Path, typer.Argument(help="A folder of `tucano synthesize`, a prompt table, or JSON Lines of your own prompts.")
    ],
    out: Annotated[Path, typer.Option(help="The folder to write: new or empty.")],
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    as_json: Json = False,
) -> None:
    """Make one dataset of prompts: checked, scrubbed, without copies, split without leakage."""
    config = configured(profile, overrides, state, makes_prompts=False)
    started = time.monotonic()
    with new_folder(out) as draft, _workers(config) as map_shards, stage_progress("curate") as progress:
        # Workers of a cluster run in folders of their own.
        given = prompts.absolute()
        summary = stage.run(config.curate, config.policy, given, draft, progress, map_shards)
    seconds = time.monotonic() - started
    print_curation(summary)
    show(f"dataset in {out}, in {seconds:.1f} s; its card is {out / 'README.md'}")
    emit({**summary.as_document(), "out": str(out), "seconds": round(seconds, 3)}, as_json=as_json)


@contextmanager
def _workers(config: Config) -> Iterator[MapShards]:
    """Provide the runner of shards; only Dask's needs Prefect, and with it the state folder."""
    if config.curate.runner == "processes":
        yield in_processes(config.curate.workers)
        return

    # The session's own sentence promises that finished work is kept, which is not so here.
    with session(config, bytes_needed=BYTES_NEEDED), recorded(config), interruptible(UNDONE):
        # Prefect reads the session's settings when it is imported.
        from flows.stages.shard_runners import map_shards  # noqa: PLC0415

        yield map_shards(config.curate)
