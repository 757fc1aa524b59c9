"""`tucano audit` as a person uses it: exit codes, sentences, tables, and files."""

import json
import re
from pathlib import Path

import pytest

from schemas.source import REPOSITORY
from tasks.audit.sheet import read_rows
from tasks.audit.stage import FILES, shipped_files
from tests.flows.command import Ended, in_this_process
from tests.tasks.audit.alterations.bugs import HOLE

pytestmark = pytest.mark.slow

SHIPPED = shipped_files()


def tucano(*arguments: str | Path) -> Ended:
    return in_this_process("audit", *arguments)


def check(sheet: Path, report: Path, *more: str) -> Ended:
    return tucano("check", sheet, "--rollouts", SHIPPED.rollouts, "--report", report, *more)


def test_the_shipped_sheet_passes_and_its_report_is_written(tmp_path: Path) -> None:
    report = tmp_path / "report"
    ended = check(SHIPPED.sheet, report, "--json")
    document = ended.document()
    assert "passed: training may start" in ended.text
    assert document["gate"]["passed"]
    assert document == json.loads((report / "report.json").read_text(encoding="utf-8"))
    page = (REPOSITORY / "docs" / "audit.md").read_text(encoding="utf-8")
    for task, block in document["tasks"].items():
        rho = f"{block['rho']:.3f} │ {block['rho_low']:.3f} to {block['rho_high']:.3f}"
        agreed = f"{block['within_prompt_rho']:.3f} │ {block['alpha']:.3f}"
        probes = f"{len(block['probes'])} of {len(block['probes'])}"
        assert f"│ {task:<10} │ {block['n']:>6} │ {rho} │  {agreed} │ {probes:<10} │ agrees " in page
    assert {path.name for path in report.iterdir()} == FILES


def test_a_refusal_shows_reasons_and_ends_with_3(tmp_path: Path) -> None:
    ended = check(SHIPPED.sheet, tmp_path / "report", "--spec", "v4.2")
    assert ended.returncode == 3
    assert "refused: training must not start" in ended.text
    assert re.search(r"- \w+: rho is 0\.\d{3}, 0\.7 is needed", ended.text)
    assert json.loads((tmp_path / "report" / "audit.json").read_text(encoding="utf-8"))["verdict"] == "refused"


def test_a_sheet_is_drawn_and_never_replaced(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    draw = ("sheet", SHIPPED.rollouts, "--out", sheet, "--per-task", "12")
    assert tucano(*draw).returncode == 0
    assert len(read_rows(sheet)) == 72
    assert "exists and may hold scores" in tucano(*draw).refusal()
    assert "72 of 72 rows have no score" in check(sheet, tmp_path / "report").refusal()


def test_exploits_are_printed_and_written(tmp_path: Path) -> None:
    with HOLE.planted():
        ended = tucano("attack", "--task", "sentiment", "--evaluations", "2000", "--json", "--out", tmp_path)
    document = ended.document()["sentiment"]
    assert document["evaluations"] >= 2_000
    assert {"task", "reward_version", "evaluations", "seconds", "finds"} <= document.keys()
    lines = (tmp_path / "finds-sentiment.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == document["finds"] != []
    for find in document["finds"][:3]:
        assert f"sentiment {find['identity']}: {find['hits']} of {find['prompts']} prompts" in ended.words
