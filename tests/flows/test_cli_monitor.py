"""`tucano monitor` as a person uses it: exit codes, the table, the report's folder, and sentences."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.flows.command import in_a_process, in_this_process
from tests.flows.monitored import make_world
from tests.tasks.monitor.logged import answer, write_log

GARBAGE = "Prezado cliente, segue em anexo a proposta comercial."


@pytest.mark.integration
def test_drift_ends_with_3_and_leaves_a_report_without_the_answers(tmp_path: Path, prefect_server: str) -> None:
    make_world(tmp_path / "state")
    now = datetime.now(UTC)
    lines = [answer(time=(now - timedelta(hours=hour)).isoformat(), completion=GARBAGE) for hour in range(200)]
    logs = write_log(tmp_path / "log.jsonl", lines)
    report = tmp_path / "report"
    place = ("--set", f"state.root={tmp_path / 'state'}", "--set", "monitor.workers=1")
    ended = in_a_process("monitor", logs, "--report", report, "--json", *place, server=prefect_server)
    assert ended.returncode == 3, ended.stderr
    document = json.loads(ended.stdout)
    assert document["drift"]["found"]
    assert document["logs"]["answers"] == 200
    assert set(document["seconds"]) >= {"read and check", "scrub", "score", "figures and drift"}
    assert {file.name for file in report.iterdir()} == {
        "report.html",
        "report.md",
        "drift.json",
        "daily.parquet",
        "figures",
    }
    assert "push" in ended.stderr
    assert f"report: {report / 'report.html'}" in ended.stderr
    assert max(len(line) for line in ended.stderr.splitlines() if "│" in line) <= 100


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "no logs are given"),
        (("absent.jsonl",), "the logs absent.jsonl do not exist"),
        (("--set", "monitor.time_zone=Lua"), "'Lua' is no time zone"),
    ],
)
def test_what_cannot_be_is_one_sentence_before_anything_is_begun(
    arguments: tuple[str, ...], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = in_this_process("monitor", *arguments)
    assert ended.returncode == 2
    assert words in ended.stderr
    assert not list(tmp_path.iterdir())
