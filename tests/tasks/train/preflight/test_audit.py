"""Training does not start on rewards that were not audited, or not these, or that were refused."""

from pathlib import Path
from typing import Any

import pytest

from schemas.audit_record import AUDIT_RECORD_FILE, AuditedTask, AuditRecord
from schemas.errors import GateRefused, InputError
from tasks.commerce.registry import joint_version, reward_versions
from tasks.train.preflight.inputs import audit_faults, require_audit

RECORD = AuditRecord(
    spec="grounded",
    reward_version=joint_version(),
    reward_versions=reward_versions(),
    sheet_sha256="0" * 64,
    rollouts_sha256="1" * 64,
    raters={"ana": "human"},
    verdict="passed",
    reasons=("every probe is scored as it must be",),
    thresholds={"min_rho": 0.7},
    tasks={"push": AuditedTask(n=40, rho=0.9, rho_low=0.8, verdict="agrees")},
)


def audited(folder: Path, **changes: Any) -> Path:
    record = RECORD.model_copy(update=changes)
    (folder / AUDIT_RECORD_FILE).write_text(record.model_dump_json(), encoding="utf-8")
    return folder


def test_an_audit_that_passed_lets_these_rewards_train(tmp_path: Path) -> None:
    assert require_audit(audited(tmp_path), "grounded", ["push"]) == RECORD


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        (
            {"reward_version": "f" * 64, "reward_versions": {}},
            "is of the rewards grounded f{12}, and these are grounded",
        ),
        ({"reward_versions": RECORD.reward_versions | {"push": "f" * 64}}, "the rewards of push are others than those"),
        ({"spec": "v4.2"}, r"is of the rewards v4\.2 .* these are grounded"),
        ({"verdict": "refused", "reasons": ("push: rho is 0.20, 0.7 is needed",)}, "it refused: push: rho"),
    ],
)
def test_other_rewards_or_a_refusal_stop_it(tmp_path: Path, changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(GateRefused, match=complaint):
        require_audit(audited(tmp_path, **changes), "grounded", ["push"])


def test_an_audit_stands_for_the_tasks_whose_rewards_are_the_same(tmp_path: Path) -> None:
    changed = RECORD.reward_versions | {"churn": "f" * 64}
    record = RECORD.model_copy(
        update={"tasks": RECORD.tasks | {"churn": RECORD.tasks["push"]}, "reward_versions": changed}
    )
    assert audit_faults(record, "grounded", ["push"]) == []
    assert audit_faults(record, "grounded", ["churn"]) == ["the rewards of churn are others than those that it audited"]


@pytest.mark.parametrize("content", [None, "", "{}", '{"verdict": "passed"}', "\x00"])
def test_no_audit_is_no_permission(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / AUDIT_RECORD_FILE).write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"audit\.json is no record of a reward audit; audit the rewards again"):
        require_audit(tmp_path, "grounded", ["push"])


def test_a_task_that_nobody_audited_is_not_trained(tmp_path: Path) -> None:
    with pytest.raises(GateRefused, match="says nothing of churn, insights; audit the rewards"):
        require_audit(audited(tmp_path), "grounded", ["push", "insights", "churn"])
