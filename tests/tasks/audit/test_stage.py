"""The shipped sheet through the whole stage: the verdict, what is written, and broken rewards that are refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schemas.documents import Rollout, ScoredRollout
from schemas.errors import Interrupted
from schemas.tasks import TASK_NAMES
from tasks.audit import stage
from tasks.audit.sheet import ScoredSheet
from tasks.audit.stage import FILES, Audit, audit_rewards, read_files, run, shipped_files
from tasks.commerce.registry import RolloutScorer
from tests.tasks.audit.conftest import CONFIG

pytestmark = pytest.mark.slow

FIRST_FIELDS = [
    *("n", "rho", "bonett_wright", "bca", "rho_low", "rho_high", "pairwise_accuracy"),
    *("within_prompt_rho", "alpha", "n_raters"),
]


@pytest.fixture(scope="module")
def shipped() -> tuple[ScoredSheet, RolloutScorer]:
    return read_files(shipped_files(), CONFIG, "grounded")


def test_shipped_rewards_pass_and_the_report_has_the_fields_of_the_design(result: Audit, output: Path) -> None:
    assert result.gate.passed, result.gate.reasons
    assert list(result.tasks) == list(TASK_NAMES)
    report = json.loads((output / "report.json").read_text(encoding="utf-8"))
    assert report == json.loads(json.dumps(result.report()))
    assert list(report) == ["tasks", "gate"]
    for block in report["tasks"].values():
        assert [name for name in block if name in FIRST_FIELDS] == FIRST_FIELDS
        assert set(block["random_half"]) == {"n", "rho", "rho_low", "rho_high", "bonett_wright", "bca"}
        assert all(set(probe) == {"passed", "detail"} for probe in block["probes"].values())
        low = min(block["bonett_wright"][0], block["bca"][0])
        assert block["rho_low"] == low < block["rho"] < block["rho_high"]


def test_the_same_sheet_gives_the_same_bytes(output: Path, result: Audit, tmp_path: Path) -> None:
    run(shipped_files(), CONFIG, "grounded", tmp_path)
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (output / name).read_bytes(), name


def test_inverted_rewards_are_caught(shipped: tuple[ScoredSheet, RolloutScorer]) -> None:
    sheet, score = shipped

    def inverted(rollout: Rollout) -> ScoredRollout:
        scored = score(rollout)
        return scored.model_copy(update={"reward": 1 - scored.reward})

    found = audit_rewards(sheet.of_tasks(["sentiment"]), inverted, CONFIG)
    checks = {objection.check for objection in found.gate.objections}
    assert {"rho", "rho_low", "worst_in_top_quartile", "best_without_reward"} <= checks
    assert found.tasks["sentiment"].verdict == "probe failed"
    assert (found.tasks["sentiment"].agreement.overall.rho or 0) < 0


def test_a_sheet_that_is_changed_while_it_is_audited_gets_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sheet = tmp_path / "sheet.csv"
    sheet.write_bytes(shipped_files().sheet.read_bytes())
    genuine = stage.audit_rewards

    def meanwhile(*arguments: Any) -> Audit:
        sheet.write_bytes(sheet.read_bytes() + b"\r\n")
        return genuine(*arguments)

    monkeypatch.setattr(stage, "audit_rewards", meanwhile)
    (tmp_path / "output").mkdir()
    with pytest.raises(Interrupted, match=r"sheet\.csv or its rollouts were changed while they were audited"):
        run(replace(shipped_files(), sheet=sheet), CONFIG, "grounded", tmp_path / "output")
    assert not (tmp_path / "output" / "audit.json").exists()
