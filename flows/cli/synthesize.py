"""Command `tucano synthesize`: a store and prompts from it."""

import time
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.options import Json, emit
from flows.cli.output_folder import new_folder
from flows.cli.tables.prompts import print_synthesis
from flows.runtime.console import say, stage_progress
from flows.runtime.own_files import own_files
from schemas.config.profiles import synthesize_config
from schemas.errors import InputError
from tasks.synthesize import stage
from tasks.synthesize.mix import read_mix, split_count
from tasks.synthesize.served_prompts import write_served_prompts

SERVED_FILE = "served.parquet"
"""File of the output with the prompts of `synthesize.logs`, which are among all prompts too."""
REPORT_MIX = "extraction=40,sql_qa=40,insights=10,push=10"
OPTIONS_OF_THEIR_OWN = {
    "source": "--source",
    "olist_dir": "--olist-dir",
    "files": "--files",
    "orders": "--orders",
    "counts": "--count and --mix",
}
"""Settings that `tucano synthesize` takes as options only, so that its output is what its options say."""


def synthesize(
    count: Annotated[int, typer.Option(help="Prompts to make, split by the mix.")],
    out: Annotated[Path, typer.Option(help="The folder to write: new or empty.")],
    source: Annotated[str, typer.Option(help="simulated, olist, or files.")] = "simulated",
    olist_dir: Annotated[Path | None, typer.Option(help="The folder of Olist's CSV files, as Kaggle ships it.")] = None,
    files: Annotated[Path | None, typer.Option(help="The column map of your own files, with --source files.")] = None,
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
    """Make a store, simulated, Olist's or of your own files, and prompts with references from it."""
    if count < 1 or seed < 0:
        raise InputError(f"--count {count} --seed {seed}: give a count of 1 or more and a seed of 0 or more")
    if (source == "olist") != (olist_dir is not None):
        raise InputError("--source olist and --olist-dir FOLDER go together; give both or neither")
    if (source == "files") != (files is not None):
        raise InputError("--source files and --files MAP go together; give both or neither")
    if source == "olist" and orders is not None:
        raise InputError("--orders is for a simulated store; Olist's is as large as it is")
    for assignment in overrides:
        named = assignment.partition("=")[0].strip().removeprefix("synthesize.").partition(".")[0].strip()
        if named in OPTIONS_OF_THEIR_OWN:
            raise InputError(f"--set synthesize.{named} has an option of its own; use {OPTIONS_OF_THEIR_OWN[named]}")
    counts = split_count(count, read_mix(mix))
    section = {"source": source, "olist_dir": olist_dir, "files": files, "orders": orders, "counts": counts}
    config = synthesize_config(section, overrides)
    simulated = f"a store of {config.orders_to_simulate} simulated orders"
    store = simulated if source == "simulated" else str(olist_dir or files)
    say(f"making {count} prompts from {store}, seed {seed}")
    started = time.monotonic()
    own = own_files(config, state)
    with new_folder(out) as draft, stage_progress("synthesize") as progress:
        served = None
        if config.logs is not None:
            served = draft / SERVED_FILE
            write_served_prompts(config.logs, config.counts, served)
        summary = stage.run(config, seed, draft, progress, state, served, own)
    seconds = time.monotonic() - started
    print_synthesis(summary)
    say(f"prompts and store in {out}, in {seconds:.1f} s")
    emit({**summary.as_document(), "out": str(out), "seconds": round(seconds, 3)}, as_json=as_json)
