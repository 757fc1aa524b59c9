"""`tucano monitor` as a person uses it: exit codes, the table, the report's folder, and sentences."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.flows.command import in_this_process
from tests.flows.monitored import shared_world
from tests.flows.prefect_state import prefect_state
from tests.tasks.monitor.logged import answer, write_log

GARBAGE = "Prezado cliente, segue em anexo a proposta comercial."


@pytest.mark.integration
def test_drift_ends_with_3_and_leaves_a_report_without_the_answers(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, prefect_server: str
) -> None:
    root = shared_world(tmp_path_factory.getbasetemp()).root
    now = datetime.now(UTC)
    times = [(now - timedelta(hours=hour)).isoformat() for hour in range(200)]
    own: dict[str, Any] = {"model_version": "tucano2-commerce/1", "role": "champion", "rating": 2}
    lines = [answer(time=time, completion=GARBAGE, **own) for time in times]
    logs = write_log(tmp_path / "log.jsonl", lines)
    report = tmp_path / "report"
    place = ("--set", f"state.root={root}", "--set", "monitor.workers=1")
    with prefect_state(prefect_server, root):
        ended = in_this_process("monitor", logs, "--report", report, "--json", *place)
    assert ended.returncode == 3, ended.text
    document = json.loads(ended.stdout)
    assert document["drift"]["found"]
    assert document["logs"]["answers"] == 200
    assert {file.name for file in report.iterdir()} == {
        "report.html",
        "report.md",
        "drift.json",
        "daily.parquet",
    }
    assert "push" in ended.text
    assert "Ratings from 1 to 5, on average: push 2.00 of 200 answers." in ended.text
    assert f"report: {report / 'report.html'}" in ended.text
