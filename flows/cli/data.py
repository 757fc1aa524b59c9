"""Commands `tucano synthesize` and `curate`: prompts from a store, and one dataset of them."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import ceil
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from flows.cli.options import UNDONE, Json, Overrides, Profile, StateFolder, configured
from flows.cli.output_folder import new_folder
from flows.cli.result import Table, show
from flows.runtime.console import say, stage_progress, warn
from flows.runtime.own_files import own_files
from flows.runtime.session import BYTES_NEEDED, recorded, session
from flows.runtime.signals import interruptible
from schemas.config.config import Config, CurateConfig, SynthesizeConfig
from schemas.config.profiles import load_config, synthesize_config
from schemas.errors import InputError
from schemas.tables.dataset_summary import DatasetSummary
from schemas.tables.prompts_summary import PromptsSummary
from tasks.curate import stage as curate_stage
from tasks.curate.processes import MapShards, in_processes
from tasks.synthesize import stage as synthesize_stage
from tasks.synthesize.mix import read_mix, split_count
from tasks.synthesize.served_prompts import write_served_prompts

REPORT_MIX: Final = "extraction=40,sql_qa=40,insights=10,push=10"
DEFAULT_SEED: Final = 42
CURATED_BY: Final = "local"
"""Profile by which `tucano curate` splits where none is given."""
SERVED_FILE: Final = "served.parquet"
"""File of the output with the prompts of `synthesize.logs`, which are among all prompts too."""
OPTIONS_OF_THEIR_OWN: Final = {
    "source": "--source",
    "olist_dir": "--olist-dir",
    "files": "--files",
    "orders": "--orders",
    "counts": "--count and --mix",
}
"""Settings that `tucano synthesize` takes as options only, so that its output is what its options say."""
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
        int | None, typer.Option(min=0, help=f"Where all randomness comes from; the profile's, or {DEFAULT_SEED}.")
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
    section = {"source": source, "olist_dir": olist_dir, "files": files, "orders": orders}
    if profile is None:
        config = _by_options(count, mix or REPORT_MIX, {**section, "source": source or "simulated"}, overrides)
        curated, chosen = load_config(CURATED_BY).curate, DEFAULT_SEED
    else:
        given = {f"--{name.replace('_', '-')}": value for name, value in section.items()} | {
            "--count": count,
            "--mix": mix,
        }
        if named := [name for name, value in given.items() if value is not None]:
            raise InputError(
                f"profile {profile!r} says what is made; leave out {', '.join(named)}, or change it with "
                "--set synthesize.counts.TASK=N"
            )
        whole = load_config(profile, overrides)
        config, curated, chosen = whole.synthesize, whole.curate, whole.seed
    seed = chosen if seed is None else seed
    simulated = f"a store of {config.orders_to_simulate} simulated orders"
    store = simulated if config.source == "simulated" else str(config.olist_dir or config.files)
    say(f"making {sum(config.counts.values())} prompts from {store}, seed {seed}")
    _warn_of_too_few(config, curated)
    started = time.monotonic()
    own = own_files(config, state)
    with new_folder(out) as draft, stage_progress("synthesize") as progress:
        served = None
        if config.logs is not None:
            served = draft / SERVED_FILE
            write_served_prompts(config.logs, config.counts, served)
        summary = synthesize_stage.run(config, seed, draft, progress, state, served, own)
    seconds = time.monotonic() - started
    for warning in summary.warnings:
        warn(warning)
    document = {**summary.as_document(), "out": str(out), "seconds": round(seconds, 3)}
    parts = [_synthesized(summary), f"prompts and store in {out}, in {seconds:.1f} s"]
    show(document, parts, as_json=as_json)


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


def _warn_of_too_few(config: SynthesizeConfig, curate: CurateConfig) -> None:
    """Say, before anything is made, what `tucano curate` would refuse of it."""
    needed = {
        task: ceil(SPARE * (curate.test_rows(task) + curate.validation_rows(task)) / curate.held_out_share)
        for task, count in config.counts.items()
        if count
    }
    short = [f"{task} {config.counts[task]}" for task, least in needed.items() if config.counts[task] < least]
    if short:
        # In the same mix.
        enough = ceil(sum(config.counts.values()) * max(least / config.counts[task] for task, least in needed.items()))
        warn(
            f"`tucano curate` holds out {curate.held_out_share:.0%} of the customers and takes test and "
            f"validation prompts from them, which asks for some {max(needed.values())} prompts of a task, and this is "
            f"fewer: {', '.join(short)}; make {enough:,} in this mix, or curate with the smaller sizes that its "
            "refusal names"
        )


def _synthesized(summary: PromptsSummary) -> Table:
    """Return how many prompts each task has, by their source."""
    counts = {"made": summary.made, "paraphrases": summary.paraphrases.made if summary.paraphrases else {}}
    if summary.served is not None:
        counts["from_logs"] = summary.served
    if summary.source == "files":
        sources = dict.fromkeys(source for by_source in summary.origins.values() for source in by_source)
        counts = {source: {task: by.get(source, 0) for task, by in summary.origins.items()} for source in sources}
        counts["no_reference"] = summary.without_reference
    rows = [
        {"task": task, "asked": asked, **{name: by_task.get(task, 0) for name, by_task in counts.items()}}
        for task, asked in summary.asked.items()
        if asked
    ]
    by = "own" if summary.source == "files" else summary.source
    return Table(f"Prompts by task, from {summary.store.orders} {by} orders", rows, " ".join(["task asked", *counts]))


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
        summary = curate_stage.run(config.curate, config.policy, prompts.absolute(), draft, progress, map_shards)
    seconds = time.monotonic() - started
    for warning in summary.warnings:
        warn(warning)
    document = {**summary.as_document(), "out": str(out), "seconds": round(seconds, 3)}
    done = f"dataset in {out}, in {seconds:.1f} s; its card is {out / 'README.md'}"
    show(document, [*_curated(summary), done], as_json=as_json)


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


def _curated(summary: DatasetSummary) -> Iterator[str | Table]:
    """Yield the splits by task, why rows were dropped, and what was replaced."""
    tasks = {task: sizes for task, sizes in summary.tasks.items() if any(sizes.values())}
    title = f"{sum(summary.rows.values())} prompts kept, {summary.quarantined} in quarantine"
    yield Table(title, tasks, "task=name train validation test")
    for task, splits in summary.references_by_people.items():
        yield f"{task}: people gave references of {splits['test']} test and {splits['validation']} validation prompts"
    reasons = {reason: {"rows": sum(by.values()), "by": by} for reason, by in summary.reasons.items() if by}
    if reasons:
        yield Table("Quarantine", reasons, "reason=name rows by_task=by")
    replaced = {f"[{kind}]": {"times": count} for kind, count in summary.scrubbed.items() if count}
    if replaced:
        yield Table("Personal data replaced", replaced, "placeholder=name times")
