from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from schemas.config.config import AuditConfig
from tasks.audit.gate import AuditVerdict, Probe, TaskAudit, decide, judge
from tasks.audit.statistics import Agreement, Correlation

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
NONE: dict[str, Any] = {"bonett_wright": None, "bca": None}


def found(**changes: Any) -> Agreement:
    """Return what is good but for some figures; `n`, `rho`, `bonett_wright` and `bca` are those of all completions."""
    of_overall = {name: changes.pop(name) for name in ("n", "rho", "bonett_wright", "bca") if name in changes}
    return replace(GOOD, overall=replace(GOOD.overall, **of_overall), **changes)


def audit(agreement: Agreement = GOOD, probes: Mapping[str, Probe] = PASSED, config: AuditConfig = CONFIG) -> TaskAudit:
    return judge("push", agreement, probes, config)


def checks(agreement: Agreement = GOOD, config: AuditConfig = CONFIG) -> list[str]:
    return [objection.check for objection in audit(agreement, config=config).objections]


@pytest.mark.parametrize(
    ("agreement", "probes", "check", "verdict", "reason"),
    [
        (found(rho=-0.9), PASSED, "rho", "disagrees", "rho is -0.900, 0.7 is needed"),
        (found(bonett_wright=(0.49, 0.9)), PASSED, "rho_low", "uncertain", "lower bound is 0.490, 0.5 is needed"),
        (found(bca=(0.49, 0.9)), PASSED, "rho_low", "uncertain", "lower bound is 0.490, 0.5 is needed"),
        (found(**NONE), PASSED, "rho_low", "uncertain", "lower bound is unknown, 0.5 is needed"),
        (found(n=39), PASSED, "scores", "too few scores", "39 scores, 40 are needed"),
        (found(rho=None, **NONE), PASSED, "constant", "disagrees", "so nothing can agree"),
        (found(within_prompt_rho=-0.1), PASSED, "within_prompt", "disagrees", "which GRPO uses, is -0.100"),
        (found(alpha=0.31, overlap=20), PASSED, "alpha", "rubric broken", "alpha is 0.310, 0.67 is needed over 20"),
        (found(alpha=None, overlap=25), PASSED, "alpha", "rubric broken", "alpha is unknown, 0.67 is needed over 25"),
        (found(worst_in_top_quartile=2), PASSED, "worst_in_top_quartile", "disagrees", "2 completions scored 1"),
        (found(best_without_reward=1), PASSED, "best_without_reward", "disagrees", "1 of 10 completions scored 5"),
        (found(constant_groups=6), PASSED, "constant_groups", "disagrees", "the same reward in 6 of 10 prompts"),
        (found(no_numbers=1), PASSED, "no_numbers", "disagrees", "1 rewards are no finite number"),
        (GOOD, FAILED, "probe:empty", "probe failed", "probe empty failed: at most 0.400 on 10 prompts, may be 0.25"),
    ],
)
def test_each_objection_alone_keeps_the_gate_shut(
    agreement: Agreement, probes: dict[str, Probe], check: str, verdict: AuditVerdict, reason: str
) -> None:
    refused = audit(agreement, probes)
    assert refused.verdict == verdict
    gate = decide({"churn": judge("churn", GOOD, PASSED, CONFIG), "push": refused}, [], ["rubric"], CONFIG)
    assert not gate.passed
    assert [(objection.check, objection.task) for objection in gate.objections] == [(check, "push")]
    assert gate.reasons[0].startswith("push: ")
    assert reason in gate.reasons[0]


@pytest.mark.parametrize(
    ("at_the_limit", "beyond", "check"),
    [
        ({"rho": 0.70}, {"rho": 0.6999}, "rho"),
        ({"bca": (0.50, 0.9)}, {"bca": (0.4999, 0.9)}, "rho_low"),
        ({"n": 40}, {"n": 39}, "scores"),
        ({"alpha": 0.67, "overlap": 20}, {"alpha": 0.6699, "overlap": 20}, "alpha"),
        ({"alpha": -0.5, "overlap": 19}, {"alpha": -0.5, "overlap": 20}, "alpha"),
        ({"best": 20, "best_without_reward": 1}, {"best": 19, "best_without_reward": 1}, "best_without_reward"),
        ({"best": 1000, "best_without_reward": 50}, {"best": 1000, "best_without_reward": 51}, "best_without_reward"),
        ({"best": 0, "best_without_reward": 0}, {"best": 1, "best_without_reward": 1}, "best_without_reward"),
        ({"prompt_groups": 11, "constant_groups": 5}, {"prompt_groups": 11, "constant_groups": 6}, "constant_groups"),
        ({"prompt_groups": 0, "constant_groups": 0}, {"prompt_groups": 1, "constant_groups": 1}, "constant_groups"),
    ],
)
def test_thresholds_are_met_exactly_at_their_values(
    at_the_limit: dict[str, Any], beyond: dict[str, Any], check: str
) -> None:
    assert checks(found(**at_the_limit)) == []
    assert checks(found(**beyond)) == [check]
