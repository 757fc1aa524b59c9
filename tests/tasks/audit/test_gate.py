from dataclasses import replace

import pytest

from schemas.config import AuditConfig
from tasks.audit.gate import AuditVerdict, TaskAudit, decide, judge
from tasks.audit.probes import Probe
from tasks.audit.statistics import Agreement

CONFIG = AuditConfig(require_human=False)
GOOD = Agreement(
    n=40,
    rho=0.85,
    rho_low=0.7,
    rho_high=0.93,
    tau_b=0.7,
    pairwise_accuracy=0.8,
    within_prompt_rho=0.8,
    alpha=None,
    n_raters=1,
)
PASSED = {"empty": Probe(True, "at most 0.000 on 10 prompts, may be 0.25")}
FAILED = {"empty": Probe(False, "at most 0.400 on 10 prompts, may be 0.25")}


def audit(agreement: Agreement = GOOD, probes: dict[str, Probe] = PASSED) -> TaskAudit:
    return TaskAudit(agreement, probes, judge(agreement, probes, CONFIG))


def test_passes_what_agrees() -> None:
    gate = decide({"push": audit(), "churn": audit(replace(GOOD, rho=0.75))}, [], ["rubric"], CONFIG)
    assert gate.passed
    assert any("churn's, 0.75" in reason for reason in gate.reasons)


@pytest.mark.parametrize(
    ("agreement", "probes", "verdict", "reason"),
    [
        (replace(GOOD, rho=0.69), PASSED, "disagrees", "push: rho is 0.69, 0.7 is needed"),
        (replace(GOOD, rho_low=0.49), PASSED, "uncertain", "push: rho's lower bound is 0.49, 0.5 is needed"),
        (replace(GOOD, rho_low=None), PASSED, "uncertain", "push: rho's lower bound is unknown"),
        (replace(GOOD, n=39), PASSED, "too few scores", "push: 39 scores, 40 are needed"),
        (replace(GOOD, rho=None, rho_low=None), PASSED, "disagrees", "push: rewards or scores are constant"),
        (GOOD, FAILED, "probe failed", "push: probe empty failed: at most 0.400"),
    ],
)
def test_refuses_what_is_not_shown(
    agreement: Agreement, probes: dict[str, Probe], verdict: AuditVerdict, reason: str
) -> None:
    found = audit(agreement, probes)
    assert found.verdict == verdict
    gate = decide({"push": found, "churn": audit()}, [], ["rubric"], CONFIG)
    assert not gate.passed
    assert len(gate.reasons) == 1
    assert gate.reasons[0].startswith(reason)


def test_every_objection_is_said() -> None:
    bad = audit(replace(GOOD, n=10, rho=0.2, rho_low=-0.1), FAILED)
    assert len(decide({"push": bad}, [], ["rubric"], CONFIG).reasons) == 4


def test_refuses_a_task_that_nobody_scored() -> None:
    gate = decide({"push": audit()}, ["churn"], ["human"], CONFIG)
    assert gate == replace(gate, passed=False, reasons=("churn: no completion is scored",))


@pytest.mark.parametrize(("kinds", "passed"), [(["human"], True), (["rubric"], False), (["human", "model"], False)])
def test_people_can_be_demanded(kinds: list[str], passed: bool) -> None:
    config = CONFIG.model_copy(update={"require_human": True})
    gate = decide({"push": audit()}, [], kinds, config)  # type: ignore[arg-type]
    assert gate.passed is passed
    if not passed:
        assert "asks for people" in gate.reasons[0]
