"""Demonstrations of a warm start: who was not among them changes nothing by leaving, and a place is filled once."""

from pathlib import Path

from schemas.config.policy import WarmStartConfig
from schemas.tables.vacancies import Vacancy, write_vacancies
from tasks.train.sft.warm_start import demonstrated
from tests.tasks.train.small_warm_start import GENERAL, ROWS, write_dataset

FEW = WarmStartConfig(steps=1, batch_size=4)
SEED = 1


def shown(folder: Path, *gone: str, config: WarmStartConfig = FEW) -> set[str]:
    """Return what a warm start is shown once some rows are gone."""
    folder.mkdir()
    write_dataset(folder, [row for row in ROWS if row.prompt_id not in gone], GENERAL)
    places = [Vacancy(place, row.task) for place, row in enumerate(ROWS) if row.prompt_id in gone]
    write_vacancies(folder, places)
    return demonstrated(folder, config, SEED)


def test_who_was_not_shown_changes_nothing_by_leaving(tmp_path: Path) -> None:
    before = shown(tmp_path / "before")
    assert 0 < len(before) < len(ROWS)
    others = [row.prompt_id for row in ROWS if row.prompt_id not in before]
    assert shown(tmp_path / "after", *others[:3]) == before


def test_who_was_shown_is_replaced_by_one_and_the_others_stay(tmp_path: Path) -> None:
    before = shown(tmp_path / "before")
    gone = min(before)
    after = shown(tmp_path / "after", gone)
    assert after >= before - {gone}
    assert gone not in after


def test_without_a_warm_start_nobody_is_shown(tmp_path: Path) -> None:
    assert shown(tmp_path / "none", config=WarmStartConfig(steps=0)) == set()
