import csv
import json
from collections import Counter
from pathlib import Path

import pytest

from schemas.config import AuditConfig
from schemas.documents import Rollout, ScoredRollout
from schemas.errors import InputError
from schemas.json_lines import read_json_lines
from schemas.tasks import TASK_NAMES, SpecName
from tasks.audit.sheet import read_sheet
from tasks.audit.stage import AuditResult, run
from tasks.commerce import registry
from tasks.commerce.sandbox import Databases

DATA = Path(__file__).resolve().parents[3] / "data" / "audit"
CONFIG = AuditConfig(
    sheet=DATA / "sheet.csv", rollouts=DATA / "rollouts.jsonl", store=DATA / "store", require_human=False
)


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("audit")


@pytest.fixture(scope="module")
def result(output: Path) -> AuditResult:
    return run(CONFIG, "grounded", output)


def sentiment_only(folder: Path, **changes: str) -> AuditConfig:
    """Write the shipped sheet's sentiment rows, changed, and return a configuration that audits them."""
    with CONFIG.sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = [row | changes for row in csv.DictReader(file) if row["task"] == "sentiment"]
    with (folder / "sheet.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    rollouts = [
        rollout for rollout in read_json_lines(CONFIG.rollouts, Rollout, "rollouts") if rollout.task == "sentiment"
    ]
    lines = "".join(rollout.model_dump_json() + "\n" for rollout in rollouts)
    (folder / "rollouts.jsonl").write_text(lines, encoding="utf-8")
    return CONFIG.model_copy(update={"sheet": folder / "sheet.csv", "rollouts": folder / "rollouts.jsonl"})


def audit(config: AuditConfig, folder: Path) -> AuditResult:
    output = folder / "output"
    output.mkdir()
    return run(config, "grounded", output)


def test_shipped_sheet_is_complete_and_says_who_scored_it() -> None:
    rows = read_sheet(CONFIG.sheet)
    assert CONFIG.sheet.read_bytes().startswith(b"\xef\xbb\xbf")
    assert min(Counter(row.task for row in rows).values()) >= CONFIG.min_scores_per_task
    assert {row.task for row in rows} == set(TASK_NAMES)
    assert {row.rater_kind for row in rows} == {"rubric"}
    for task in TASK_NAMES:
        assert {row.human_score for row in rows if row.task == task} == {1, 2, 3, 4, 5}


def test_unbroken_rewards_pass_on_the_shipped_sheet(result: AuditResult) -> None:
    assert result.gate.passed, result.gate.reasons
    assert list(result.tasks) == list(TASK_NAMES)


def test_report_has_the_fields_of_the_design(result: AuditResult, output: Path) -> None:
    report = json.loads((output / "report.json").read_text(encoding="utf-8"))
    assert report == result.report()
    assert list(report) == ["tasks", "gate"]
    for block in report["tasks"].values():
        assert list(block) == [
            "n",
            "rho",
            "rho_low",
            "rho_high",
            "tau_b",
            "pairwise_accuracy",
            "within_prompt_rho",
            "alpha",
            "n_raters",
            "probes",
            "verdict",
        ]
        assert all(set(probe) == {"passed", "detail"} for probe in block["probes"].values())


def test_output_holds_the_sheet_and_what_was_audited(result: AuditResult, output: Path) -> None:
    assert (output / "sheet.csv").read_bytes() == CONFIG.sheet.read_bytes()
    identities = json.loads((output / "identities.json").read_text(encoding="utf-8"))
    assert identities["reward_version"] == registry.reward_version()
    assert identities["rater_kinds"] == ["rubric"]
    assert "No person scored this sheet" in (output / "report.html").read_text(encoding="utf-8")


def test_constant_rewards_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    genuine = registry.score_rollout

    def constant(rollout: Rollout, databases: Databases | None, spec: SpecName) -> ScoredRollout:
        return genuine(rollout, databases, spec).model_copy(update={"reward": 0.5})

    monkeypatch.setattr(registry, "score_rollout", constant)
    gate = audit(sentiment_only(tmp_path), tmp_path).gate
    assert not gate.passed
    assert any("constant" in reason for reason in gate.reasons)


def test_inverted_rewards_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    genuine = registry.score_rollout

    def inverted(rollout: Rollout, databases: Databases | None, spec: SpecName) -> ScoredRollout:
        scored = genuine(rollout, databases, spec)
        return scored.model_copy(update={"reward": 1 - scored.reward})

    monkeypatch.setattr(registry, "score_rollout", inverted)
    result = audit(sentiment_only(tmp_path), tmp_path)
    assert not result.gate.passed
    assert result.tasks["sentiment"].verdict == "probe failed"
    assert (result.tasks["sentiment"].agreement.rho or 0) < 0


@pytest.mark.parametrize(("rater_kind", "passed"), [("rubric", False), ("human", True)])
def test_people_can_be_demanded(tmp_path: Path, rater_kind: str, passed: bool) -> None:
    config = sentiment_only(tmp_path, rater_kind=rater_kind).model_copy(update={"require_human": True})
    assert audit(config, tmp_path).gate.passed is passed


def test_a_task_without_scores_is_refused(tmp_path: Path) -> None:
    config = sentiment_only(tmp_path).model_copy(update={"rollouts": CONFIG.rollouts})
    gate = audit(config, tmp_path).gate
    assert not gate.passed
    assert {reason.split(":")[0] for reason in gate.reasons} == set(TASK_NAMES) - {"sentiment"}


def test_an_edited_completion_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="row 2; row 3"):
        audit(sentiment_only(tmp_path, completion="editada"), tmp_path)
