"""`tucano audit` as a person uses it: exit codes, sentences, tables, and what is left on the disk."""

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tasks.audit.alterations.recorded import FOLDER
from tasks.audit.sheet import Row, read_rows, write_rows
from tasks.audit.stage import FILES, shipped_files
from tests.flows.command import Ended, in_a_process, in_this_process

pytestmark = pytest.mark.slow

SHIPPED = shipped_files()

Cells = dict[str, Any]


def tucano(*arguments: str | Path) -> Ended:
    return in_this_process("audit", *arguments)


def check(sheet: Path, report: Path, *more: str | Path) -> Ended:
    return tucano("check", sheet, "--rollouts", SHIPPED.rollouts, "--report", report, *more)


def sheet_of(path: Path, task: str, change: Callable[[int, Row], Cells | None] = lambda _, row: dict(row)) -> Path:
    """Write the shipped rows of one task, each changed or left out."""
    rows = [row for row in read_rows(SHIPPED.sheet) if row["task"] == task]
    changed = [change(number, row) for number, row in enumerate(rows, 2)]
    write_rows(path, [row for row in changed if row is not None])
    return path


def test_the_shipped_sheet_passes_and_its_report_is_written(tmp_path: Path) -> None:
    report = ("--report", tmp_path / "report")
    ended = in_a_process("audit", "check", SHIPPED.sheet, "--rollouts", SHIPPED.rollouts, *report, "--json")
    assert ended.returncode == 0, ended.text
    assert "passed: training may start" in ended.text
    document = json.loads(ended.stdout)
    assert document["gate"]["passed"]
    assert document == json.loads((tmp_path / "report" / "report.json").read_text(encoding="utf-8"))
    assert {path.name for path in (tmp_path / "report").iterdir()} == FILES


def test_a_refusal_shows_reasons_and_disagreements_and_ends_with_3(tmp_path: Path) -> None:
    ended = check(SHIPPED.sheet, tmp_path / "report", "--spec", "v4.2")
    assert ended.returncode == 3
    assert "refused: training must not start" in ended.text
    assert re.search(r"- \w+: rho is 0\.\d{3}, 0\.7 is needed", ended.text)
    assert "worst disagreements" in ended.text
    assert json.loads((tmp_path / "report" / "audit.json").read_text(encoding="utf-8"))["verdict"] == "refused"


def test_an_earlier_report_is_replaced_and_anything_else_is_not(tmp_path: Path) -> None:
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "audit.json").write_text("an earlier one", encoding="utf-8")
    assert check(SHIPPED.sheet, tmp_path / "report").returncode == 0
    assert json.loads((tmp_path / "report" / "audit.json").read_text(encoding="utf-8"))["verdict"] == "passed"
    (tmp_path / "report" / "mine.txt").touch()
    refused = check(SHIPPED.sheet, tmp_path / "report")
    assert refused.returncode == 2
    assert "exists and is no empty folder" in refused.text
    assert (tmp_path / "report" / "mine.txt").exists()


def test_thresholds_and_raters_are_configuration(tmp_path: Path) -> None:
    ended = check(SHIPPED.sheet, tmp_path / "report", "--set", "audit.require_human=true")
    assert ended.returncode == 3
    assert "scores are by model, rubric, and audit.require_human asks for people" in ended.text
    ended = check(SHIPPED.sheet, tmp_path / "report", "--set", 'audit.raters=["rubric-1"]')
    assert ended.returncode == 2
    assert "the rater of row 2; row 3; row 4; row 5; row 6; and 511 more is not among audit.raters" in ended.text


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"human_score": "7"}, "row 3: human_score: Input should be less than or equal to 5 (it is '7')"),
        ({"human_score": "4,5"}, "row 3: human_score: Input should be a valid integer"),
        ({"completion": "editada"}, "row 3: its prompt or completion was edited"),
        ({"audit_id": "", "rater": "outro"}, "row 3: audit_id"),
        ({"rater": ""}, "row 3: rater"),
        ({"rater_kind": "pessoa"}, "row 3: rater_kind"),
        ({"human_score": ""}, "1 of 102 rows have no score: row 3"),
        ({"rater": "model-2"}, "rows 3, 54: audit_id, rater together are there more than once"),
    ],
)
def test_a_faulty_row_is_named(tmp_path: Path, change: dict[str, str], sentence: str) -> None:
    sheet = sheet_of(tmp_path / "sheet.csv", "push", lambda number, row: {**row, **(change if number == 3 else {})})
    ended = check(sheet, tmp_path / "report")
    assert ended.returncode == 2
    assert "Traceback" not in ended.text
    assert sentence in ended.text.strip().splitlines()[-1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sheet.csv"]


def test_a_partly_scored_sheet_with_semicolons_in_cp1252_is_read_and_reported(tmp_path: Path) -> None:
    half = sheet_of(tmp_path / "half.csv", "push", lambda n, row: {**row, "human_score": row["human_score"] * (n < 50)})
    text = half.read_text(encoding="utf-8-sig")
    with (tmp_path / "excel.csv").open("w", encoding="cp1252", errors="replace", newline="") as file:
        csv.writer(file, delimiter=";").writerows(csv.reader(io.StringIO(text, newline=""), delimiter=";"))
    assert "54 of 102 rows have no score" in check(tmp_path / "excel.csv", tmp_path / "report").text


def test_too_few_scores_and_tasks_without_any_are_a_no(tmp_path: Path) -> None:
    sheet = sheet_of(tmp_path / "sheet.csv", "push", lambda number, row: dict(row) if number < 31 else None)
    ended = check(sheet, tmp_path / "report")
    assert ended.returncode == 3
    assert "- push: 29 scores, 40 are needed" in ended.text
    assert "- churn: no completion is scored" in ended.text


def test_a_hostile_completion_reaches_the_terminal_as_text(tmp_path: Path) -> None:
    attack = "\x1b]0;invadido\x07\x1b[2J[red]{}[/red] =CMD()"
    rollouts = []
    with SHIPPED.rollouts.open(encoding="utf-8") as file:
        for line in file:
            rollout = json.loads(line)
            if rollout["task"] == "sentiment":
                rollouts.append(rollout | {"completion": attack + rollout["completion"]})
    (tmp_path / "rollouts.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rollouts), encoding="utf-8")
    assert tucano("sheet", tmp_path / "rollouts.jsonl", "--out", tmp_path / "sheet.csv").returncode == 0
    scored = {"human_score": "5", "rater": "ana", "rater_kind": "human"}
    rows = [
        {**row, **scored, "human_score": str(1 + number % 5)}
        for number, row in enumerate(read_rows(tmp_path / "sheet.csv"))
    ]
    write_rows(tmp_path / "sheet.csv", rows)
    report = tmp_path / "report"
    ended = in_a_process(
        "audit", "check", tmp_path / "sheet.csv", "--rollouts", tmp_path / "rollouts.jsonl", "--report", report
    )
    assert ended.returncode == 3, ended.text
    assert "invadido" in ended.text
    assert "\x1b" not in ended.text
    assert "[red]" in ended.text


def test_a_sheet_is_drawn_and_never_replaced(tmp_path: Path) -> None:
    ended = tucano("sheet", SHIPPED.rollouts, "--out", tmp_path / "sheet.csv", "--per-task", "12")
    assert ended.returncode == 0, ended.text
    assert len(read_rows(tmp_path / "sheet.csv")) == 72
    again = tucano("sheet", SHIPPED.rollouts, "--out", tmp_path / "sheet.csv", "--per-task", "12")
    assert again.returncode == 2
    assert "exists and may hold scores" in again.text
    ended = check(tmp_path / "sheet.csv", tmp_path / "report")
    assert "72 of 72 rows have no score" in ended.text


def test_without_a_store_of_their_own_rollouts_are_run_on_the_shipped_one_and_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "rollouts.jsonl").write_bytes(SHIPPED.rollouts.read_bytes())
    ended = tucano("sheet", tmp_path / "rollouts.jsonl", "--out", tmp_path / "sheet.csv")
    assert ended.returncode == 0, ended.text
    assert "it is run on the shipped store" in ended.text


def test_what_is_recorded_is_said_to_be_as_it_was_and_is_left_alone() -> None:
    before = (FOLDER / "sentiment.jsonl").read_bytes()
    ended = tucano("record", "--task", "sentiment")
    assert ended.returncode == 0
    assert re.search(r"sentiment: 0 of \d+ altered answers earned something else", ended.text)
    assert (FOLDER / "sentiment.jsonl").read_bytes() == before


def test_references_are_asked_of_a_dataset_alone(tmp_path: Path) -> None:
    asked = ("references", "--rater", "ana-1", "--state", tmp_path, "--out", tmp_path / "references.jsonl")
    ended = tucano(*asked)
    assert ended.returncode == 2
    assert "no dataset is in" in ended.text
    assert "run `tucano curate`" in ended.text
    ended = tucano(*asked, str(tmp_path))
    assert ended.returncode == 2
    assert "is no dataset, for it has no data/test.parquet" in ended.text
    assert not (tmp_path / "references.jsonl").exists()
