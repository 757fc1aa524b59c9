"""Dataset without a person: their rows leave every table, and leave their places among the training rows empty."""

import json
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import polars as pl

from schemas.errors import InputError
from schemas.given_references import read_given
from schemas.references import knows_anything
from schemas.tables.dataset_summary import DatasetSummary
from schemas.tables.instructions import GENERAL_FILE
from schemas.tables.parquet import open_parquet
from schemas.tables.person import Person
from schemas.tables.prompts import COLUMNS, SPLITS, TRAIN_FILE, PromptRow, read_prompt_table, read_prompts
from schemas.tables.vacancies import Vacancy, read_vacancies, with_vacancies, write_vacancies
from tasks.curate.card import data_card
from tasks.curate.files import QUARANTINE_COLUMNS, QUARANTINE_FILE, UNKNOWN_TASK, split_file
from tasks.curate.given import COMPLETED_SPLITS

CARD_FILE: Final = "README.md"


def without_person(dataset: Path, person: Person, output: Path, references: Path | None = None) -> None:
    """Write a dataset without a person's rows into an empty folder; equal inputs give equal bytes.

    What was dropped as a copy of one of them stays dropped.

    Args:
        dataset: Folder of the dataset.
        person: The person.
        output: The empty folder.
        references: References that people gave, without the person's; None without any.

    Raises:
        InputError: The dataset or the references cannot be read.
    """
    (output / "data").mkdir()
    removed: Counter[tuple[str, str]] = Counter()
    untold: Counter[tuple[str, str]] = Counter()
    sources: Counter[str] = Counter()
    for split in SPLITS:
        table = read_prompt_table(split_file(dataset, split))
        theirs = table.filter(person.theirs(table.columns))
        removed.update((split, task) for task in theirs["task"])
        untold.update(
            (split, task)
            for task, reference in theirs.select("task", "reference").iter_rows()
            if not knows_anything(json.loads(reference))
        )
        sources.update(theirs["source"])
        _write(split_file(output, split), COLUMNS, table.filter(~person.theirs(table.columns)))
    quarantine = pl.read_parquet(dataset / QUARANTINE_FILE, glob=False)
    mine = person.theirs(quarantine.columns)
    _write(output / QUARANTINE_FILE, QUARANTINE_COLUMNS, quarantine.filter(~mine))
    if (dataset / GENERAL_FILE).exists():
        shutil.copyfile(dataset / GENERAL_FILE, output / GENERAL_FILE)
    write_vacancies(output, vacancies_without(dataset, person))
    dropped = Counter((reason, task) for reason, task in quarantine.filter(mine).select("reason", "task").iter_rows())
    summary = _summary_without(DatasetSummary.read(dataset), removed, sources, dropped)
    summary = _references_without(summary, untold, output, references)
    summary.write(output)
    (output / CARD_FILE).write_text(data_card(summary, output), encoding="utf-8")


def vacancies_without(dataset: Path, person: Person) -> list[Vacancy]:
    """Return the vacancies of a dataset once a person's training rows are taken out.

    Raises:
        InputError: The dataset cannot be read.
    """
    places = with_vacancies(read_prompts(dataset / TRAIN_FILE), read_vacancies(dataset))
    return [
        each if isinstance(each, Vacancy) else Vacancy(place, each.task)
        for place, each in enumerate(places)
        if isinstance(each, Vacancy) or is_theirs(each, person)
    ]


def is_theirs(row: PromptRow, person: Person) -> bool:
    """Return whether a prompt is a person's."""
    columns = person.columns_of_prompts()
    return any(getattr(row, name) in columns[name] for name in COLUMNS if name in columns)


def refuse_too_few(dataset: Path, person: Person, fewest: int) -> None:
    """Refuse to forget somebody without whom a split has no row of a task, or training fewer than it may start with.

    Args:
        dataset: Folder of the dataset.
        person: The person.
        fewest: Fewest training rows of a task.

    Raises:
        InputError: Too few rows of a task would be left.
    """
    for split in SPLITS:
        rows = read_prompts(split_file(dataset, split))
        counts = Counter(row.task for row in rows)
        left = Counter(row.task for row in rows if not is_theirs(row, person))
        needed = fewest if split == "train" else 1
        if gone := sorted(task for task in counts if left[task] < min(needed, counts[task])):
            raise InputError(
                f"without these rows the {split} split has {' and '.join(f'{left[task]} {task}' for task in gone)} "
                f"prompts left, and needs {needed} of a task; raise synthesize.counts, retrain, and forget then"
            )


def _write(path: Path, columns: Mapping[str, type[pl.DataType]], table: pl.DataFrame) -> None:
    with open_parquet(path, columns) as written:
        written.add(table)


def _summary_without(
    summary: DatasetSummary,
    removed: Mapping[tuple[str, str], int],
    sources: Mapping[str, int],
    dropped: Mapping[tuple[str, str], int],
) -> DatasetSummary:
    splits = {split: sum(count for (of, _), count in removed.items() if of == split) for split in SPLITS}
    named: Counter[tuple[str, str]] = Counter()
    for (reason, task), count in dropped.items():
        named[reason, task if task in summary.tasks else UNKNOWN_TASK] += count
    return summary.model_copy(
        update={
            **{split: getattr(summary, split) - count for split, count in splits.items()},
            "quarantined": summary.quarantined - sum(dropped.values()),
            "tasks": {
                task: {split: count - removed.get((split, task), 0) for split, count in by_split.items()}
                for task, by_split in summary.tasks.items()
            },
            "reasons": {
                reason: {task: left for task, count in by_task.items() if (left := count - named[reason, task])}
                for reason, by_task in summary.reasons.items()
            },
            "sources": {
                source: left for source, count in summary.sources.items() if (left := count - sources.get(source, 0))
            },
        }
    )


def _references_without(
    summary: DatasetSummary, untold: Mapping[tuple[str, str], int], output: Path, references: Path | None
) -> DatasetSummary:
    """Return a summary whose counts of missing and of given references are those of the written splits.

    A person's value that was known before counts for nothing, which the written splits do not tell: so no count grows.
    """
    without = {
        task: {split: left for split, count in by_split.items() if (left := count - untold.get((split, task), 0))}
        for task, by_split in summary.without_reference.items()
    }
    lines = () if references is None else read_given(references)
    told = {line.prompt_id for line in lines if any(value is not None for value in line.values.values())}
    rows = {split: read_prompts(split_file(output, split)) for split in COMPLETED_SPLITS}
    given = Counter((split, row.task) for split in rows for row in rows[split] if row.prompt_id in told)
    by_people = {
        task: {split: min(count, given[split, task]) for split, count in by_split.items()}
        for task, by_split in summary.references_by_people.items()
    }
    known = {row.prompt_id for split in rows for row in rows[split]}
    return summary.model_copy(
        update={
            "without_reference": {task: by_split for task, by_split in without.items() if by_split},
            "references_by_people": {task: by_split for task, by_split in by_people.items() if any(by_split.values())},
            "references_left_out": len({line.prompt_id for line in lines} - known),
        }
    )
