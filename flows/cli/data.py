"""Commands `tucano init`, `synthesize` and `curate`: your own files, prompts from a store, and one dataset of them."""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from flows.cli.result import Table, new_folder, show, write_file
from flows.cli.tucano import UNDONE, Json, Overrides, Profile, StateFolder, configured
from flows.runtime.console import say, stage_progress, warn
from flows.runtime.session import own_files
from flows.runtime.signals import interruptible
from schemas.config.config import SynthesizeConfig
from schemas.config.profiles import load_config, synthesize_config
from schemas.errors import InputError
from schemas.shown_text import as_shown
from schemas.tables.summaries import DatasetSummary, PromptsSummary
from schemas.tasks import TASK_NAMES
from tasks.curate import stage as curate_stage
from tasks.curate.processes import in_processes
from tasks.synthesize import stage as synthesize_stage
from tasks.synthesize.columns.choices import ColumnChoice
from tasks.synthesize.columns.document import column_map_text, plan, profile_text
from tasks.synthesize.columns.look import LookedFile, find_files, look_at
from tasks.synthesize.columns.recognize import Recognized, recognize, undecided
from tasks.synthesize.served_prompts import write_served_prompts
from tasks.synthesize.stage import read_mix, split_count

REPORT_MIX: Final = "extraction=40,sql_qa=40,insights=10,push=10"
DEFAULT_SEED: Final = 42
SERVED_FILE: Final = "served.parquet"
"""File of the output with the prompts of `synthesize.logs`, which are among all prompts too."""


def synthesize(
    out: Annotated[Path, typer.Option(help="The folder to write: new or empty.")],
    count: Annotated[int | None, typer.Option(help="Prompts to make, split by the mix.")] = None,
    profile: Annotated[str | None, typer.Option(help="Make what a profile makes, without other options.")] = None,
    source: Annotated[str | None, typer.Option(help="simulated, which is the default, olist, or files.")] = None,
    olist_dir: Annotated[Path | None, typer.Option(help="The folder of Olist's CSV files, as Kaggle ships it.")] = None,
    files: Annotated[Path | None, typer.Option(help="The column map of your own files, with --source files.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help=f"Seed; the profile's, or {DEFAULT_SEED}.")] = None,
    mix: Annotated[str | None, typer.Option(help=f"Weights of the tasks; {REPORT_MIX} where not given.")] = None,
    orders: Annotated[int | None, typer.Option(help="Orders in a simulated store; else one a prompt.")] = None,
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: Annotated[Path, typer.Option(help="State folder, with the key of pseudonyms.")] = Path(".tucano"),
    as_json: Json = False,
) -> None:
    """Make a store, simulated, Olist's or of your own files, and prompts with references from it."""
    section = {"source": source, "olist_dir": olist_dir, "files": files, "orders": orders}
    if profile is None:
        config = _by_options(count, mix or REPORT_MIX, {**section, "source": source or "simulated"}, overrides)
        chosen = DEFAULT_SEED
    else:
        given = {f"--{name.replace('_', '-')}": value for name, value in section.items()} | {
            "--count": count,
            "--mix": mix,
        }
        if named := [name for name, value in given.items() if value is not None]:
            raise InputError(f"profile {profile!r} says what is made; leave out {', '.join(named)}, or use --set")
        whole = load_config(profile, overrides)
        config, chosen = whole.synthesize, whole.seed
    seed = chosen if seed is None else seed
    simulated = f"a store of {config.orders_to_simulate} simulated orders"
    store = simulated if config.source == "simulated" else str(config.olist_dir or config.files)
    say(f"making {sum(config.counts.values())} prompts from {store}, seed {seed}")
    started = time.monotonic()
    own = own_files(config, state)
    with new_folder(out) as draft, stage_progress("synthesize") as progress:
        served = None
        if config.logs is not None:
            served = draft / SERVED_FILE
            write_served_prompts(config.logs, config.counts, served)
        summary = synthesize_stage.run(config, seed, draft, progress, served, own)
    seconds = time.monotonic() - started
    for warning in summary.warnings:
        warn(warning)
    document = {**summary.as_document(), "out": str(out), "seconds": round(seconds, 3)}
    show(document, [_synthesized(summary), f"prompts and store in {out}, in {seconds:.1f} s"], as_json=as_json)


def _by_options(count: int | None, mix: str, section: Mapping[str, Any], overrides: Sequence[str]) -> SynthesizeConfig:
    if count is None or count < 1:
        said = "no --count is given" if count is None else f"--count {count}"
        raise InputError(f"{said}: give a count of 1 or more, or --profile NAME for what a profile makes")
    source = section["source"]
    for name, option, given in (("olist", "--olist-dir FOLDER", "olist_dir"), ("files", "--files MAP", "files")):
        if (source == name) != (section[given] is not None):
            raise InputError(f"--source {name} and {option} go together; give both or neither")
    if source == "olist" and section["orders"] is not None:
        raise InputError("--orders is for a simulated store; Olist's is as large as it is")
    return synthesize_config({**section, "counts": split_count(count, read_mix(mix))}, overrides)


def _synthesized(summary: PromptsSummary) -> Table:
    """Return how many prompts each task has, by their source."""
    counts = {"made": summary.made} | ({} if summary.served is None else {"from_logs": summary.served})
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
    made_from = f"{summary.store.orders} {by} orders" if summary.store.orders else "rows of own files"
    return Table(f"Prompts by task, from {made_from}", rows, " ".join(["task asked_for=asked", *counts]))


def curate(
    prompts: Annotated[Path, typer.Argument(help="A folder of `tucano synthesize`, a table, or JSON Lines.")],
    out: Annotated[Path, typer.Option(help="The folder to write: new or empty.")],
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    as_json: Json = False,
) -> None:
    """Make one dataset of prompts: checked, scrubbed, without copies, split without leakage."""
    config = configured(profile, overrides, state, makes_prompts=False)
    started = time.monotonic()
    with new_folder(out) as draft, stage_progress("curate") as progress:
        in_parallel = in_processes(config.curate.workers)
        summary = curate_stage.run(config.curate, config.policy, prompts, draft, progress, in_parallel)
    seconds = time.monotonic() - started
    for warning in summary.warnings:
        warn(warning)
    document = {**summary.as_document(), "out": str(out), "seconds": round(seconds, 3)}
    done = f"dataset in {out}, in {seconds:.1f} s; its card is {out / 'README.md'}"
    show(document, [*_curated(summary), done], as_json=as_json)


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
    if replaced := {f"[{kind}]": {"times": count} for kind, count in summary.scrubbed.items() if count}:
        yield Table("Personal data replaced", replaced, "placeholder=name times")


COLUMN_MAP: Final = "columns.toml"
PROFILE: Final = "shop.toml"


def init(
    files: Annotated[list[Path], typer.Argument(help="Files or folders of CSV, Excel, JSON Lines or Parquet.")],
    out: Annotated[Path, typer.Option(help="The folder to write the column map and the profile into.")] = Path(),
    task: Annotated[list[str], typer.Option(help="Train this task only. May be repeated.")] = [],  # noqa: B006
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier column map and profile.")] = False,
    as_json: Json = False,
) -> None:
    """Look at your own files, and write the column map and the profile that train on them."""
    column_map, profile = out / COLUMN_MAP, out / PROFILE
    there = [file for file in (column_map, profile) if file.exists()]
    if there and not force:
        raise InputError(
            f"{' and '.join(map(str, there))} exists, and may have been corrected by hand; move it away, give another "
            "folder by --out, or replace it by --force"
        )
    if unknown := [name for name in task if name not in TASK_NAMES]:
        raise InputError(f"there is no task {unknown[0]!r}; use one of: {', '.join(TASK_NAMES)}")
    wanted = [name for name in TASK_NAMES if name in task or not task]
    with interruptible(UNDONE), stage_progress("init") as progress:
        looked, unread, found = list[LookedFile](), list[str](), find_files(files)
        for done, file in enumerate(found):
            progress(done, len(found), f"looking at {file.name}")
            try:
                looked.append(look_at(file))
            except InputError as error:
                unread.append(str(error))
        if not looked:
            raise InputError(unread[0])
        recognized, local = recognize(looked, wanted), load_config("local")
        planned, confirmed = (plan(each, local, wanted) for each in (recognized, recognized.confirmed))
        write_file(column_map, column_map_text(recognized, out))
        write_file(profile, profile_text(planned, confirmed, column_map, local))
    tasks = {each.task: {"rows": each.rows, "count": each.count, "missing": each.missing} for each in planned}
    shown = {name: each for name, each in tasks.items() if each["count"] or each["rows"] or name in task}
    waiting, retrain = " and ".join(_waiting(recognized)), f"tucano retrain --profile {profile}"
    parts: list[str | Table] = [
        *_recognized_lines(recognized),
        *(f"left out: {sentence}" for sentence in unread),
        Table("Tasks that these files can train", shown or tasks, "task=name rows prompts=count missing"),
        f"column map: {column_map}; read it, and remove the `#` of what you confirm",
        f"profile: {profile}",
    ]
    document = {"column_map": str(column_map), "profile": str(profile), "tasks": tasks}
    then = f"once {waiting} are confirmed" if waiting else "then"
    none = "no task can be trained yet: confirm what is right in the column map, or give more files"
    show(document, [*parts, f"{then}: {retrain}" if any(each.count for each in planned) else none], as_json=as_json)


def _recognized_lines(recognized: Recognized) -> Iterator[str]:
    """Yield for each file what was recognised, what is to be confirmed, and what is left out."""
    for file in recognized.files:
        sections = [section for section in recognized.sections if section.file is file]
        yield f"{file.path}: {file.cells.height:,} rows, {file.cells.width} columns"
        yield from (as_shown(f"  {note}") for note in file.notes)
        for section in sections:
            sure = ", ".join(as_shown(_pair(choice)) for choice in section.choices if choice.sure) or "nothing is sure"
            yield f"  {'table' if section.is_table else 'prompts of'} {section.name}: {sure}"
            open_choices = ((_pair(choice), choice.why) for choice in section.choices if not choice.sure)
            for line, why in (*open_choices, *undecided(section)):
                yield as_shown(f"  - to confirm: {line}: {why}")
        yield from ["  nothing of it is used"] * (not sections)
        left_out = recognized.left_out(file).items()
        yield from (as_shown(f"  {why}: {', '.join(columns)}") for why, columns in left_out)


def _pair(choice: ColumnChoice) -> str:
    return choice.ours if choice.ours == choice.theirs else f"{choice.ours} = {choice.theirs}"


def _waiting(recognized: Recognized) -> list[str]:
    """Return what a person must confirm before a run: tables of orders, cells with two meanings, and statuses."""
    tables = {section.name: section.is_sure for section in recognized.sections if section.is_table}
    orders = ["the columns of table orders"] * (not tables.get("orders", True) and any(tables.values()))
    sure = [section for section in recognized.sections if section.is_sure]
    statuses = {each.theirs for section in sure for each in section.choices if each.waits}
    open_cells = ["dates and decimals"] * any(True for section in recognized.sections for _ in undecided(section))
    return [*orders, *open_cells, *(as_shown(f"the values of {name}") for name in sorted(statuses))]
