"""Sources of prompts: a simulated store, Olist's, or a shop's own files."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from schemas.config.config import SynthesizeConfig
from schemas.errors import InputError
from schemas.progress import Progress
from schemas.store.column_map import ColumnMap
from schemas.store.files import read_store
from schemas.store.mapped_tables import NEEDED_BY_TASK
from schemas.store.store import Store
from schemas.tables.prompts import PromptRow
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.personal_data.scrub import Kind
from tasks.personal_data.scrub_table import scrub_store
from tasks.synthesize.own.identities import KEY_FILE
from tasks.synthesize.own.opened import OwnFiles
from tasks.synthesize.own.prompts import SOURCE, Skipped, own_prompts
from tasks.synthesize.own.rows import MOST_ROWS
from tasks.synthesize.own.tables import own_store
from tasks.synthesize.prompt_rows import as_prompt_row
from tasks.synthesize.simulated import simulate_store


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


def open_source(config: SynthesizeConfig, seed: int, own: OwnFiles | None, progress: Progress) -> OpenedSource:
    """Read or simulate what prompts are made from."""
    total = sum(config.counts.values())
    scrubbed: Counter[Kind] = Counter()
    if own is not None:
        progress(0, total, f"reading {config.files}")
        return _of_files(config, seed, own, scrubbed)
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


def read_all(own: OwnFiles) -> None:
    """Read a shop's files as a run would that makes every prompt of them, and keep nothing.

    Raises:
        InputError: A file cannot be read, or is not what it should be: as a run would say.
    """
    own_store(own)
    for task in TASK_NAMES:
        for _ in own_prompts(own, task, MOST_ROWS, random.Random(0), Skipped()):
            pass


def _of_store(task: TaskName, count: int, store: Store, seed: int, source: str) -> Iterator[PromptRow]:
    if count:
        for example in EXAMPLE_MAKERS[task](store, random.Random(f"{seed}:{task}"), count):
            yield as_prompt_row(example, source)


def _of_files(config: SynthesizeConfig, seed: int, own: OwnFiles, scrubbed: Counter[Kind]) -> OpenedSource:
    store = scrub_store(own_store(own), scrubbed)
    lacking = _lacking(own.column_map)
    skipped = Skipped()
    made: Counter[TaskName] = Counter()

    def rows(task: TaskName, count: int) -> Iterator[PromptRow]:
        if count:
            for row in own_prompts(own, task, count, random.Random(f"{seed}:{task}:rows"), skipped):
                made[task] += 1
                yield row
        if not lacking[task]:
            yield from _of_store(task, count - made[task], store, seed, SOURCE)

    def notes() -> list[str]:
        notes = [
            f"the files have nothing of {task}: map a file of its rows, or {', '.join(lacking[task])}"
            for task, count in config.counts.items()
            if count and not made[task] and lacking[task]
        ]
        notes += [f"{n:,} rows of {task} made no prompt: {why}" for (task, why), n in sorted(skipped.rows.items())]
        if own.made_pseudonyms:
            notes.append(
                f"identities of {', '.join(own.made_pseudonyms)} hold e-mail addresses, CPF or telephone numbers and "
                f"were replaced by pseudonyms; keep {KEY_FILE} of the state folder, for another key gives others, and "
                "another split"
            )
        return notes

    return OpenedSource(store, rows, notes, scrubbed)


def _lacking(column_map: ColumnMap) -> dict[TaskName, list[str]]:
    """Return the tables and columns that the prompts of each task would need besides those that are mapped."""
    mapped = {f"{file.table}.{column}" for file in column_map.tables for column in file.columns}
    return {
        task: [
            name for table, columns in needed.items() for each in columns if (name := f"{table}.{each}") not in mapped
        ]
        for task, needed in NEEDED_BY_TASK.items()
    }
