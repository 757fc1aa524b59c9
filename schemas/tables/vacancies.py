"""Vacancies of a training split: the places of rows that were taken out, which every other row's turn depends on.

Prompts are drawn in a shuffled order of places. With fewer places the whole order would be another; with the places
kept and left empty, the rows before a removed one come as they came, and its turn goes to the next row.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from schemas.errors import InputError
from schemas.tables.prompts import PromptRow
from schemas.tasks import TASK_NAMES, TaskName

VACANCIES_FILE: Final = "vacancies.json"
"""File of a dataset; absent where no row was ever taken out."""


@dataclass(frozen=True)
class Vacancy:
    """Empty place among the rows of a training split; it tells nothing of the row that had it but the task."""

    place: int
    """Index among all places, from 0."""
    task: TaskName
    """Task of the row that had it."""


def read_vacancies(dataset: Path) -> tuple[Vacancy, ...]:
    """Return the vacancies of a dataset's training split, in order.

    Raises:
        InputError: The file cannot be read.
    """
    file = dataset / VACANCIES_FILE
    if not file.exists():
        return ()
    try:
        found = tuple(Vacancy(int(each["place"]), each["task"]) for each in json.loads(file.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError):
        found = None
    if found is None or any(vacancy.task not in TASK_NAMES for vacancy in found):
        raise InputError(f"{file} cannot be read as vacancies of a dataset; bring the dataset back from a backup")
    return found


def write_vacancies(dataset: Path, vacancies: Iterable[Vacancy]) -> None:
    """Write the vacancies of a dataset's training split."""
    text = json.dumps([asdict(vacancy) for vacancy in vacancies], indent=1)
    (dataset / VACANCIES_FILE).write_text(text + "\n", encoding="utf-8")


def with_vacancies(rows: Sequence[PromptRow], vacancies: Sequence[Vacancy]) -> list[PromptRow | Vacancy]:
    """Return what is in each place: rows in order, and the vacancies in theirs.

    Raises:
        InputError: A vacancy is outside of these places.
    """
    empty = {vacancy.place: vacancy for vacancy in vacancies}
    count = len(rows) + len(vacancies)
    if len(empty) != len(vacancies) or any(not 0 <= place < count for place in empty):
        raise InputError(f"the vacancies are not among the {count} places of the training split; curate it again")
    others = iter(rows)
    return [empty.get(place) or next(others) for place in range(count)]


def of_tasks(
    rows: Sequence[PromptRow], vacancies: Sequence[Vacancy], tasks: Collection[TaskName]
) -> tuple[list[PromptRow], tuple[Vacancy, ...]]:
    """Return the rows and the vacancies of some tasks, with places among these tasks' alone."""
    places = [each for each in with_vacancies(rows, vacancies) if each.task in tasks]
    return (
        [each for each in places if isinstance(each, PromptRow)],
        tuple(Vacancy(place, each.task) for place, each in enumerate(places) if isinstance(each, Vacancy)),
    )
