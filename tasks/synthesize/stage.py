"""Synthesize stage: a store, simulated, Olist's or of a shop's own files, and prompts with references made from it."""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Final

from schemas.config.config import SynthesizeConfig
from schemas.errors import InputError
from schemas.progress import Progress
from schemas.references import knows_anything
from schemas.store.column_map import NEEDED_BY_TASK, ColumnMap
from schemas.store.files import read_store, write_store
from schemas.store.store import Store
from schemas.tables.prompts import PromptRow, read_prompts, write_prompt_table
from schemas.tables.summaries import PromptsSummary, StoreSize
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.personal_data.scrub import Kind
from tasks.personal_data.scrub_table import scrub_store, scrubbed_rows
from tasks.synthesize.own.identities import KEY_FILE
from tasks.synthesize.own.opened import OwnFiles
from tasks.synthesize.own.prompts import SOURCE, Skipped, own_prompts
from tasks.synthesize.own.tables import own_store
from tasks.synthesize.simulated import as_prompt_row, simulate_store

_WEIGHT: Final = re.compile(r"\d{1,9}(?:\.\d{1,9})?", re.ASCII)
DATA_FILES: Final = ("constraints/laptop.txt",)
"""The versions of the packages that know telephone numbers and check digits."""
ROWS_BETWEEN_REPORTS: Final = 50
STORES: Final = {"simulated": "simulated store", "olist": "olist store", "files": "store of the files"}
REMEDIES: Final = {
    "simulated": "use more orders",
    "olist": "use a simulated store, the only one that knows who comes back (churn)",
    "files": "map more of them",
}


@dataclass(frozen=True)
class OpenedSource:
    """A store, and what makes prompts of it."""

    store: Store
    rows: Callable[[TaskName, int], Iterator[PromptRow]]
    """Returns at most so many prompts of a task."""
    notes: Callable[[], list[str]] = list
    """Returns what is to be known of it once all prompts were made."""
    scrubbed: Counter[Kind] = field(default_factory=Counter)
    """Personal data that was replaced so far, by kind."""
    skipped: Skipped = field(default_factory=Skipped)
    """Rows of files that made no prompt so far."""


def open_source(config: SynthesizeConfig, seed: int, own: OwnFiles | None, progress: Progress) -> OpenedSource:
    """Read or simulate what prompts are made from."""
    total = sum(config.counts.values())
    if own is not None:
        progress(0, total, f"reading {config.files}")
        return _of_files(config, seed, own, progress)
    scrubbed: Counter[Kind] = Counter()
    if config.source == "simulated":
        progress(0, total, f"simulating {config.orders_to_simulate} orders")
        store = simulate_store(config.orders_to_simulate, random.Random(f"{seed}:store"))
    elif config.olist_dir is not None:
        progress(0, total, f"reading {config.olist_dir}")
        store = scrub_store(read_store(config.olist_dir), scrubbed)
    else:
        raise InputError(f"synthesize.source is {config.source!r} but no files are given; set synthesize.olist_dir")
    return OpenedSource(
        store, lambda task, count: _of_store(task, count, store, seed, config.source), scrubbed=scrubbed
    )


def _of_store(task: TaskName, count: int, store: Store, seed: int, source: str) -> Iterator[PromptRow]:
    if count:
        for example in EXAMPLE_MAKERS[task](store, random.Random(f"{seed}:{task}"), count):
            yield as_prompt_row(example, source)


def _of_files(config: SynthesizeConfig, seed: int, own: OwnFiles, progress: Progress) -> OpenedSource:
    scrubbed: Counter[Kind] = Counter()
    store = scrub_store(own_store(own), scrubbed)
    lacking = _lacking(own.column_map)
    skipped = Skipped()
    made: Counter[TaskName] = Counter()

    def rows(task: TaskName, count: int) -> Iterator[PromptRow]:
        if count:
            for row in own_prompts(own, task, count, random.Random(f"{seed}:{task}:rows"), skipped, progress):
                made[task] += 1
                yield row
        if not lacking[task]:
            yield from _of_store(task, count - made[task], store, seed, SOURCE)

    def notes() -> list[str]:
        notes = [
            f"the files have nothing of {task}: map a file of its rows, or {', '.join(lacking[task])}"
            for task, count in config.counts.items()
            if count and not made[task] and lacking[task] and not skipped.of(task)
        ]
        if own.made_pseudonyms:
            notes.append(
                f"identities of {', '.join(own.made_pseudonyms)} hold e-mail addresses, CPF or telephone numbers and "
                f"were replaced by pseudonyms; keep {KEY_FILE} of the state folder, for another key gives others, and "
                "another split"
            )
        return notes

    return OpenedSource(store, rows, notes, scrubbed, skipped)


def _lacking(column_map: ColumnMap) -> dict[TaskName, list[str]]:
    """Return the tables and columns that the prompts of each task would need besides those that are mapped."""
    mapped = {f"{file.table}.{column}" for file in column_map.tables for column in file.columns}
    return {
        task: [
            name for table, columns in needed.items() for each in columns if (name := f"{table}.{each}") not in mapped
        ]
        for task, needed in NEEDED_BY_TASK.items()
    }


def run(
    config: SynthesizeConfig,
    seed: int,
    output: Path,
    progress: Progress,
    served: Path | None = None,
    own: OwnFiles | None = None,
) -> PromptsSummary:
    """Write `store/`, `prompts.parquet` and `summary.json` into an empty folder; equal inputs give equal bytes.

    Prompts come task by task, few of them in memory at once; those of a served model's logs are the last. A task about
    which the store knows too little gets fewer prompts than requested, and no count moves another task. Personal data
    in texts is replaced before anything is written. `served` is a table of prompts from a served model's logs.
    """
    asked: dict[TaskName, int] = {task: config.counts.get(task, 0) for task in TASK_NAMES}
    source = open_source(config, seed, own, progress)
    write_store(source.store, output / "store")
    made: Counter[TaskName] = Counter()
    added: Counter[TaskName] = Counter()
    origins: Counter[tuple[TaskName, str]] = Counter()
    without_reference: Counter[TaskName] = Counter()

    def counted(rows: Iterable[PromptRow], counts: Counter[TaskName]) -> Iterator[PromptRow]:
        for row in scrubbed_rows(rows, source.scrubbed):
            origins[row.task, row.source] += 1
            without_reference[row.task] += not knows_anything(row.reference)
            yield row
            counts[row.task] += 1
            if counts.total() % ROWS_BETWEEN_REPORTS == 0:
                progress(made.total(), sum(asked.values()), f"{row.task} prompts")

    every = (counted(source.rows(task, count), made) for task, count in asked.items())
    logged = counted(read_prompts(served) if served else [], added)
    write_prompt_table(output / "prompts.parquet", chain(chain.from_iterable(every), logged))
    if not made.total():
        wanted = ", ".join(task for task, count in asked.items() if count)
        raise InputError(
            f"the {STORES[config.source]} yields no prompt for {wanted}; ask for another task or "
            f"{REMEDIES[config.source]}{''.join(f' ({note})' for note in source.notes())}"
        )
    progress(made.total(), sum(asked.values()), "prompts")
    total = made + added
    minorities = {task: total[task] for task, count in asked.items() if count and total[task] < config.minority_floor}
    summary = PromptsSummary(
        source=config.source,
        seed=seed,
        store=StoreSize(**{table: getattr(source.store, table).height for table in StoreSize.model_fields}),
        asked=asked,
        made={task: made[task] for task in asked},
        origins={
            task: {origin: count for (of, origin), count in sorted(origins.items()) if of == task} for task in asked
        },
        without_reference={task: count for task, count in without_reference.items() if count},
        served=None if served is None else {task: added[task] for task in asked},
        minority_floor=config.minority_floor,
        minorities=minorities,
        scrubbed=dict(sorted(source.scrubbed.items())),
        warnings=[],
    )
    summary = summary.model_copy(update={"warnings": _warnings(config, source, summary)})
    summary.write(output)
    return summary


def _warnings(config: SynthesizeConfig, source: OpenedSource, summary: PromptsSummary) -> list[str]:
    warnings: list[str] = []
    asked, made = summary.asked, summary.made
    short = [
        f"{task} ({made[task]} of {count})"
        for task, count in asked.items()
        if made[task] < count and not (source.skipped.usable[task] or source.skipped.of(task))
    ]
    if short:
        warnings.append(f"the {STORES[config.source]} knows too little for all prompts asked of {', '.join(short)}")
    for task, count in asked.items():
        used, why = source.skipped.usable[task], source.skipped.of(task)
        if why or (used and made[task] < count):
            what = "reviews" if "reviews" in NEEDED_BY_TASK[task] else "rows"
            total = f"{used:,} of {used + sum(why.values()):,} {what} could be used for {task}"
            warnings.append("; ".join([total, *(f"{number:,} {reason}" for reason, number in why.items())]))
    if summary.minorities:
        named = ", ".join(f"{task} ({count})" for task, count in summary.minorities.items())
        warnings.append(
            f"fewer than {config.minority_floor} prompts of {named}: the V4.2 report's push learned nothing from "
            "about 150, and the report puts the critical mass between 150 and 500; make more of them to train in "
            "earnest"
        )
    warnings += source.notes()
    warnings += [
        f"{count:,} prompts of {task} have no reference: in training they are scored by form alone, which a wrong "
        "answer has, too, and in the test split they count once people gave them a reference"
        for task, count in summary.without_reference.items()
    ]
    return warnings


def read_mix(text: str) -> dict[TaskName, Fraction]:
    """Parse weights such as `extraction=40,push=10.5`; they need not sum to anything."""
    weights: dict[str, Fraction] = {}
    for part in text.split(","):
        task, _, weight = (each.strip() for each in part.partition("="))
        if task not in TASK_NAMES or not _WEIGHT.fullmatch(weight):
            raise InputError(
                f"--mix: {part.strip()!r} is not TASK=WEIGHT with a number of 0 or more, such as push=12.5; the tasks "
                f"are {', '.join(TASK_NAMES)}"
            )
        if task in weights:
            raise InputError(f"--mix names {task} twice; give each task one weight")
        weights[task] = Fraction(weight)
    if not any(weights.values()):
        raise InputError("--mix gives no task a weight above 0; give at least one")
    return {task: weights[task] for task in TASK_NAMES if task in weights}


def split_count(count: int, weights: Mapping[TaskName, Fraction]) -> dict[TaskName, int]:
    """Split a number by weights, by the largest remainder: the parts sum to it, each within one of its exact share."""
    total = sum(weights.values())
    shares = {task: count * weights[task] / total for task in TASK_NAMES if task in weights}
    parts = {task: int(share) for task, share in shares.items()}
    by_remainder = sorted(shares, key=lambda task: parts[task] - shares[task])
    for task in by_remainder[: count - sum(parts.values())]:
        parts[task] += 1
    return parts
