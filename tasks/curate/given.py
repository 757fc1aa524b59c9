"""References that people gave, joined to the prompts of validation and test.

They complete the written splits at the very end, so that a prompt keeps its id and its split whoever answers.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import polars as pl

from schemas.errors import InputError
from schemas.references import AskedTask, knows_anything, read_given, values_of, with_values
from schemas.tables.prompts import COLUMNS, canonical_json, open_parquet, read_prompt_table
from tasks.curate.files import split_file
from tasks.personal_data.scrub import Kind, scrub

COMPLETED_SPLITS: Final = ("validation", "test")
"""Splits whose references people complete: training never learns from them."""
MOST_NAMED: Final = 5


@dataclass(frozen=True)
class GivenValues:
    """Values that people gave for one prompt."""

    task: AskedTask
    values: Mapping[str, Any]
    """By field; what they could not tell is left out."""


@dataclass(frozen=True)
class GivenReferences:
    """Values that people gave, by prompt, without personal data."""

    path: Path
    by_prompt: Mapping[str, GivenValues]
    scrubbed: Counter[Kind]
    """Personal data replaced in what people wrote."""


@dataclass(frozen=True)
class CompletedReferences:
    """Counts of a dataset's references after people's values were joined."""

    by_people: Counter[tuple[str, str]] = field(default_factory=Counter)
    """References with a value that only people knew, by split and task."""
    now_known: Counter[tuple[str, str]] = field(default_factory=Counter)
    """References among these of which nothing was known before, by split and task."""
    left_out: int = 0
    """Prompts that people were asked about and that are in neither split."""


def read_references(path: Path) -> GivenReferences:
    """Return what people gave."""
    by_prompt: dict[str, GivenValues] = {}
    scrubbed: Counter[Kind] = Counter()
    faults = []
    for line in read_given(path):
        before = by_prompt.get(line.prompt_id, GivenValues(line.task, {}))
        values = {name: value for name, value in line.values.items() if value is not None}
        for name, value in values.items():
            if isinstance(value, str):
                values[name], kinds = scrub(value)
                scrubbed += kinds
        if before.task != line.task:
            faults.append(f"prompt {line.prompt_id} is of {before.task} in one line, and of {line.task} in another")
        elif differing := _differing(before.values, values):
            faults.append(f"two lines of prompt {line.prompt_id} differ in {differing}")
        by_prompt[line.prompt_id] = GivenValues(before.task, {**before.values, **values})
    _refuse(path, faults)
    return GivenReferences(path, by_prompt, scrubbed)


def complete_splits(folder: Path, given: GivenReferences) -> CompletedReferences:
    """Complete the references of a written dataset's validation and test split; equal inputs give equal bytes."""
    by_people: Counter[tuple[str, str]] = Counter()
    now_known: Counter[tuple[str, str]] = Counter()
    found: set[str] = set()
    faults: list[str] = []
    for split in COMPLETED_SPLITS:
        table = read_prompt_table(split_file(folder, split))
        references = []
        for identity, task, text in table.select("prompt_id", "task", "reference").iter_rows():
            references.append(text)
            if (one := given.by_prompt.get(identity)) is None:
                continue
            found.add(identity)
            reference = json.loads(text)
            known = {name: value for name, value in values_of(task, reference).items() if value is not None}
            if task != one.task:
                faults.append(f"prompt {identity} is of {task}, and not of {one.task}")
            elif differing := _differing(known, one.values):
                faults.append(f"of prompt {identity} another {differing} is known than a person gave")
            elif one.values.keys() - known.keys():
                by_people[split, task] += 1
                now_known[split, task] += not knows_anything(reference)
                references[-1] = canonical_json(with_values(one.task, reference, one.values))
        with open_parquet(split_file(folder, split), COLUMNS) as completed:
            completed.add(table.with_columns(reference=pl.Series(references, dtype=pl.String)))
    _refuse(given.path, faults)
    return CompletedReferences(by_people, now_known, len(given.by_prompt.keys() - found))


def _differing(known: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    return ", ".join(name for name, value in given.items() if name in known and known[name] != value)


def _refuse(path: Path, faults: list[str]) -> None:
    if faults:
        more = len(faults) - MOST_NAMED
        named = "; ".join([*faults[:MOST_NAMED], *([f"and {more} more prompts"] if more > 0 else [])])
        raise InputError(f"curate.references {path}: {named}; correct or remove the lines")
