"""A new sheet is made of rollouts, and never in place of one that may hold scores."""

from pathlib import Path

import pytest

from schemas.config.config import AUDIT_FOLDER
from schemas.documents import Rollout, SheetItem
from schemas.errors import InputError
from schemas.json_lines import read_json_lines
from schemas.progress import silent
from tasks.audit.sampling import make_sheet
from tasks.audit.sheet import MOST_CHARACTERS, is_scored, match_rollouts, read_rows
from tasks.audit.stage import shipped_files

SHIPPED = shipped_files()


def written(path: Path, rollouts: list[Rollout]) -> Path:
    path.write_text("".join(rollout.model_dump_json() + "\n" for rollout in rollouts), encoding="utf-8")
    return path


def test_the_shipped_rollouts_make_a_sheet_of_half_random_half_by_reward(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    sample = make_sheet(SHIPPED.rollouts, "grounded", SHIPPED.store, 20, 1, sheet, silent)
    rows = read_rows(sheet)
    assert sample.drawn == dict.fromkeys(sample.drawn, 20)
    assert len(rows) == 20 * len(sample.drawn) == 120
    assert not any(map(is_scored, rows))
    assert [row["stratum"] for row in rows].count("random") == 60
    rollouts = read_json_lines(SHIPPED.rollouts, Rollout, "rollouts")
    assert len(match_rollouts(sheet, [SheetItem.model_validate(row) for row in rows], rollouts)) == 120


def test_a_sheet_that_may_hold_scores_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "sheet.csv").write_text("scores", encoding="utf-8")
    with pytest.raises(InputError, match="exists and may hold scores; give the name of a new file"):
        make_sheet(SHIPPED.rollouts, "grounded", SHIPPED.store, 20, 1, tmp_path / "sheet.csv", silent)
    assert (tmp_path / "sheet.csv").read_text(encoding="utf-8") == "scores"


def test_completions_that_no_cell_holds_are_counted(tmp_path: Path) -> None:
    long = Rollout(prompt_id="p", task="sentiment", prompt="Classifique", completion="x" * (MOST_CHARACTERS + 1))
    short = long.model_copy(update={"completion": "Bom!"})
    rollouts = written(tmp_path / "rollouts.jsonl", [long, short])
    sample = make_sheet(rollouts, "grounded", AUDIT_FOLDER, 10, 1, tmp_path / "sheet.csv", silent)
    assert sample.too_long == 1
    assert sample.drawn == {"sentiment": 1}
    assert sample.alone == ("sentiment",)
    with pytest.raises(InputError, match="no completion is short enough"):
        make_sheet(
            written(tmp_path / "long.jsonl", [long]), "grounded", AUDIT_FOLDER, 10, 1, tmp_path / "2.csv", silent
        )
