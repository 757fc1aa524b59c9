"""Command `tucano synthesize`: a store and prompts from it."""

import time
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from flows.cli.options import Json, emit
from flows.cli.output_folder import new_folder
from flows.cli.tables.prompts import print_synthesis
from flows.runtime.console import say, show, stage_progress, warn
from flows.runtime.own_files import own_files
from schemas.config.config import Config, CurateConfig, SynthesizeConfig
from schemas.config.profiles import load_config, synthesize_config
from schemas.errors import InputError
from tasks.synthesize import stage
from tasks.synthesize.mix import read_mix, split_count
from tasks.synthesize.served_prompts import write_served_prompts

SERVED_FILE = "served.parquet"
"""File of the output with the prompts of `synthesize.logs`, which are among all prompts too."""
CURATED_BY = "local"
"""Profile by which `tucano curate` splits where none is given."""
REPORT_MIX = "extraction=40,sql_qa=40,insights=10,push=10"
OPTIONS_OF_THEIR_OWN = {
    "source": "--source",
    "olist_dir": "--olist-dir",
    "files": "--files",
    "orders": "--orders",
    "counts": "--count and --mix",
}
"""Settings that `tucano synthesize` takes as options only, so that its output is what its options say."""


DEFAULT_SEED: Final = 42
SPARE: Final = 1.5
"""Customers are held out, not prompts: a task may have fewer of its prompts there than its share."""


def synthesize(
    out: Annotated[Path, typer.Option(help="The folder to write: new or empty.")],
    count: Annotated[int | None, typer.Option(help="Prompts to make, split by the mix.")] = None,
    profile: Annotated[
        str | None, typer.Option(help="Make what a profile makes, in place of --count and the options of a store.")
    ] = None,
    source: Annotated[str | None, typer.Option(help="simulated, which is the default, olist, or files.")] = None,
    olist_dir: Annotated[Path | None, typer.Option(help="The folder of Olist's CSV files, as Kaggle ships it.")] = None,
    files: Annotated[Path | None, typer.Option(help="The column map of your own files, with --source files.")] = None,
    seed: Annotated[
        int | None, typer.Option(help=f"Where all randomness comes from; the profile's, or {DEFAULT_SEED}.")
    ] = None,
    mix: Annotated[str | None, typer.Option(help=f"Weights of the tasks; {REPORT_MIX} where not given.")] = None,
    orders: Annotated[
        int | None, typer.Option(help="Orders in a simulated store; one a prompt, 1,500 to 100,000, where not given.")
    ] = None,
    overrides: Annotated[
        list[str],
        typer.Option("--set", metavar="A.B=C", help="Override one value: synthesize.a=b. May be given several times."),
    ] = [],  # noqa: B006 - Typer reads the default and never changes it
    state: Annotated[
        Path, typer.Option(metavar="FOLDER", help="The state folder: it keeps a paraphrasing model's answers.")
    ] = Path(".tucano"),
    as_json: Json = False,
) -> None:
    """Make a store, simulated, Olist's or of your own files, and prompts with references from it."""
    if seed is not None and seed < 0:
        raise InputError(f"--seed {seed}: give a seed of 0 or more")
    section = {"source": source, "olist_dir": olist_dir, "files": files, "orders": orders}
    given = {
        "--count": count,
        "--mix": mix,
        **{f"--{name.replace('_', '-')}": value for name, value in section.items()},
    }
    if profile is None:
        config = _by_options(count, mix or REPORT_MIX, {**section, "source": source or "simulated"}, overrides)
        curated, chosen = load_config(CURATED_BY).curate, DEFAULT_SEED
    else:
        whole = _by_profile(profile, overrides, [name for name, value in given.items() if value is not None])
        config, curated, chosen = whole.synthesize, whole.curate, whole.seed
    seed = chosen if seed is None else seed
    simulated = f"a store of {config.orders_to_simulate} simulated orders"
    store = simulated if config.source == "simulated" else str(config.olist_dir or config.files)
    say(f"making {sum(config.counts.values())} prompts from {store}, seed {seed}")
    for line in _too_few_to_curate(config, curated):
        warn(line)
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
    show(f"prompts and store in {out}, in {seconds:.1f} s")
    emit({**summary.as_document(), "out": str(out), "seconds": round(seconds, 3)}, as_json=as_json)


def _by_profile(profile: str, overrides: Sequence[str], given: Sequence[str]) -> Config:
    if given:
        raise InputError(
            f"profile {profile!r} says what is made; leave out {', '.join(given)}, or change it with "
            "--set synthesize.counts.TASK=N"
        )
    return load_config(profile, overrides)


def _by_options(count: int | None, mix: str, section: Mapping[str, Any], overrides: Sequence[str]) -> SynthesizeConfig:
    if count is None or count < 1:
        said = "no --count is given" if count is None else f"--count {count}"
        raise InputError(f"{said}: give a count of 1 or more, or --profile NAME for what a profile makes")
    source = section["source"]
    if (source == "olist") != (section["olist_dir"] is not None):
        raise InputError("--source olist and --olist-dir FOLDER go together; give both or neither")
    if (source == "files") != (section["files"] is not None):
        raise InputError("--source files and --files MAP go together; give both or neither")
    if source == "olist" and section["orders"] is not None:
        raise InputError("--orders is for a simulated store; Olist's is as large as it is")
    for assignment in overrides:
        named = assignment.partition("=")[0].strip().removeprefix("synthesize.").partition(".")[0].strip()
        if named in OPTIONS_OF_THEIR_OWN:
            raise InputError(f"--set synthesize.{named} has an option of its own; use {OPTIONS_OF_THEIR_OWN[named]}")
    return synthesize_config({**section, "counts": split_count(count, read_mix(mix))}, overrides)


def _too_few_to_curate(config: SynthesizeConfig, curate: CurateConfig) -> Iterator[str]:
    """Yield, before anything is made, what `tucano curate` would refuse of it."""
    needed = {
        task: ceil(SPARE * (curate.test_rows(task) + curate.validation_rows(task)) / curate.held_out_share)
        for task, count in config.counts.items()
        if count
    }
    short = [f"{task} {config.counts[task]}" for task, least in needed.items() if config.counts[task] < least]
    if short:
        # In the same mix.
        enough = ceil(sum(config.counts.values()) * max(least / config.counts[task] for task, least in needed.items()))
        yield (
            f"`tucano curate` holds out {curate.held_out_share:.0%} of the customers and takes test and "
            f"validation prompts from them, which asks for some {max(needed.values())} prompts of a task, and this is "
            f"fewer: {', '.join(short)}; make {enough:,} in this mix, or curate with the smaller sizes that its "
            "refusal names"
        )
