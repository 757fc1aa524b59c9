"""`tucano audit` as a person uses it: exit codes, sentences, tables, and what is left on the disk."""

import json
import re
from pathlib import Path

import pytest

from tasks.audit.sheet import read_rows, write_rows
from tasks.audit.stage import FILES, shipped_files
from tests.flows.command import Ended, in_a_process, in_this_process

pytestmark = pytest.mark.slow

SHIPPED = shipped_files()


def tucano(*arguments: str | Path) -> Ended:
    return in_this_process("audit", *arguments)


def check(sheet: Path, report: Path, *more: str | Path) -> Ended:
    return tucano("check", sheet, "--rollouts", SHIPPED.rollouts, "--report", report, *more)


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
