"""A run whose rewards nobody has scored draws a sheet, ends resumable, and goes on once people have scored it."""

import re
import shutil
from pathlib import Path

import pytest

from tasks.audit.sheet import Row, is_scored, read_rows, write_rows
from tests.small_pipeline import Ended, Pipeline, retrain, skipped

pytestmark = pytest.mark.e2e

PEOPLE = [
    part
    for override in ("require_human=true", "scores_per_task=8", "completions_per_prompt=4", "min_scores_per_task=8")
    for part in ("--set", f"audit.{override}")
]


@pytest.fixture(scope="module")
def root(pipeline: Pipeline, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder with finished stages, of our own."""
    copy = tmp_path_factory.mktemp("people") / "state"
    shutil.copytree(pipeline.root, copy)
    return copy


@pytest.fixture(scope="module")
def waiting(root: Path) -> Ended:
    return retrain(root, *PEOPLE)


def sheet_in(root: Path) -> Path:
    (sheet,) = root.glob("scores/*/sheet.csv")
    return sheet


def test_the_run_ends_resumable_and_names_the_sheet(root: Path, waiting: Ended) -> None:
    assert waiting.exit_code == 4, waiting.said
    assert f"48 completions of {sheet_in(root)} wait for a score" in waiting.said
    assert "Traceback" not in waiting.said
    assert skipped(waiting.said) == ["synthesize", "curate", "base"]
    rows = read_rows(sheet_in(root))
    assert len(rows) == 48
    assert not any(map(is_scored, rows))


def test_several_completions_of_a_prompt_are_on_the_sheet(root: Path, waiting: Ended) -> None:
    rows = [row for row in read_rows(sheet_in(root)) if row["stratum"] == "random"]
    assert len({row["prompt_id"] for row in rows}) <= len(rows) / 2


def test_scores_are_asked_for_once_and_decide_whether_training_starts(root: Path, waiting: Ended) -> None:
    def scored(number: int, row: Row) -> dict[str, str]:
        return {**row, "human_score": str(1 + number % 5), "rater": "ana", "rater_kind": "human"}

    sheet = sheet_in(root)
    rows = read_rows(sheet)
    write_rows(sheet, [scored(number, row) for number, row in enumerate(rows)])
    decided = retrain(root, *PEOPLE)
    # Scores that have nothing to do with the completions cannot let anybody train.
    assert decided.exit_code == 3, decided.said
    assert "sheet:" not in decided.said
    assert "tucano: the reward audit says no: " in decided.said
    assert not re.search("^train:", decided.said, flags=re.MULTILINE)
    assert "human" not in decided.said.rpartition("says no")[2]
