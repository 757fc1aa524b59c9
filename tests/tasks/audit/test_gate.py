from dataclasses import replace
from typing import Any

import pytest

from schemas.config.config import AuditConfig
from tasks.audit.gate import AuditVerdict, Probe, decide, judge
from tasks.audit.statistics import Agreement, Correlation
from tests.cases import cases_of

CASES = cases_of(__file__)
CONFIG = AuditConfig(require_human=False)
GOOD = Agreement(
    overall=Correlation(40, 0.85, (0.70, 0.93), (0.72, 0.92)),
    random_half=Correlation(20, 0.80, (0.50, 0.93), None),
    pairwise_accuracy=0.8,
    within_prompt_rho=0.8,
    alpha=None,
    n_raters=1,
    overlap=0,
    worst_in_top_quartile=0,
    best=10,
    best_without_reward=0,
    prompt_groups=10,
    constant_groups=0,
    no_numbers=0,
)
PASSED = {"empty": Probe(True, "at most 0.000"), "refusal": Probe(True, "at most 0.100")}
FAILED = PASSED | {"empty": Probe(False, "at most 0.400 on 10 prompts, may be 0.25")}


def found(**changes: Any) -> Agreement:
    """Return what is good but for some figures; `n`, `rho`, `bonett_wright` and `bca` are those of all completions."""
    of_overall = {name: changes.pop(name) for name in ("n", "rho", "bonett_wright", "bca") if name in changes}
    return replace(GOOD, overall=replace(GOOD.overall, **of_overall), **changes)


@pytest.mark.parametrize(("changes", "passed", "check", "verdict", "reason"), CASES["objections"])
def test_each_objection_alone_keeps_the_gate_shut(
    changes: dict[str, Any], passed: bool, check: str, verdict: AuditVerdict, reason: str
) -> None:
    refused = judge("push", found(**changes), PASSED if passed else FAILED, CONFIG)
    assert refused.verdict == verdict
    gate = decide({"churn": judge("churn", GOOD, PASSED, CONFIG), "push": refused}, [], ["rubric"], CONFIG)
    assert not gate.passed
    assert [(objection.check, objection.task) for objection in gate.objections] == [(check, "push")]
    assert gate.reasons[0].startswith("push: ")
    assert reason in gate.reasons[0]


@pytest.mark.parametrize(("at_the_limit", "beyond", "check"), CASES["thresholds"])
def test_thresholds_are_met_exactly_at_their_values(
    at_the_limit: dict[str, Any], beyond: dict[str, Any], check: str
) -> None:
    kept, missed = (judge("push", found(**each), PASSED, CONFIG).objections for each in (at_the_limit, beyond))
    assert not kept and [objection.check for objection in missed] == [check]
