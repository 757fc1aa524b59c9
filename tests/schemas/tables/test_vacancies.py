"""Vacancies of a training split: every row keeps its place, also among the rows of some tasks alone."""

from pathlib import Path

import pytest

from schemas.errors import InputError
from schemas.tables.vacancies import (
    VACANCIES_FILE,
    Vacancy,
    of_tasks,
    read_vacancies,
    with_vacancies,
    write_vacancies,
)
from schemas.tasks import TaskName
from tests.tasks.curate.prompt_rows import prompt_row

ROWS = [prompt_row("push", "um"), prompt_row("churn", "dois"), prompt_row("push", "três")]
VACANCIES = (Vacancy(0, "churn"), Vacancy(3, "push"))


def test_rows_keep_their_order_around_the_vacancies(tmp_path: Path) -> None:
    write_vacancies(tmp_path, VACANCIES)
    places = with_vacancies(ROWS, read_vacancies(tmp_path))
    assert places == [VACANCIES[0], ROWS[0], ROWS[1], VACANCIES[1], ROWS[2]]


def test_a_dataset_from_which_nothing_was_taken_has_none(tmp_path: Path) -> None:
    assert read_vacancies(tmp_path) == ()


def test_of_some_tasks_the_places_are_counted_among_these(tmp_path: Path) -> None:
    tasks: tuple[TaskName, ...] = ("push",)
    assert of_tasks(ROWS, VACANCIES, tasks) == ([ROWS[0], ROWS[2]], (Vacancy(1, "push"),))


@pytest.mark.parametrize("vacancies", [(Vacancy(4, "push"),), (Vacancy(1, "push"), Vacancy(1, "churn"))])
def test_a_vacancy_outside_of_the_places_or_twice_is_refused(vacancies: tuple[Vacancy, ...]) -> None:
    with pytest.raises(InputError, match="not among"):
        with_vacancies(ROWS, vacancies)


@pytest.mark.parametrize("text", ["", "[1]", '[{"place": 1}]', '[{"place": 1, "task": "poetry"}]'])
def test_a_damaged_file_is_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / VACANCIES_FILE).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="cannot be read as vacancies"):
        read_vacancies(tmp_path)
