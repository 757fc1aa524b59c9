from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from schemas.config.config import AuditConfig
from schemas.documents import RaterKind
from tasks.audit.gate import AuditVerdict, Probe, TaskAudit, decide, judge
from tasks.audit.statistics import Agreement, Correlation

CONFIG = AuditConfig(require_human=False)
GOOD = Agreement(
    overall=Correlation(40, 0.85, (0.70, 0.93), (0.72, 0.92)),
    random_half=Correlation(20, 0.80, (0.50, 0.93), None),
    tau_b=0.7,
    pairwise_accuracy=0.8,
    within_prompt_rho=0.8,
    auc=0.9,
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


def audit(agreement: Agreement = GOOD, probes: Mapping[str, Probe] = PASSED, config: AuditConfig = CONFIG) -> TaskAudit:
    return judge("push", agreement, probes, config)


def checks(
    agreement: Agreement = GOOD, probes: Mapping[str, Probe] = PASSED, config: AuditConfig = CONFIG
) -> list[str]:
    return [objection.check for objection in audit(agreement, probes, config).objections]


ALONE: list[tuple[Agreement, dict[str, Probe], str, AuditVerdict, str]] = [
    (found(rho=0.69), PASSED, "rho", "disagrees", "push: rho is 0.690, 0.7 is needed"),
    (found(rho=-0.9), PASSED, "rho", "disagrees", "push: rho is -0.900, 0.7 is needed"),
    (
        found(bonett_wright=(0.49, 0.9)),
        PASSED,
        "rho_low",
        "uncertain",
        "push: rho's lower bound is 0.490, 0.5 is needed",
    ),
    (found(bca=(0.49, 0.9)), PASSED, "rho_low", "uncertain", "push: rho's lower bound is 0.490, 0.5 is needed"),
    (
        found(bonett_wright=None, bca=None),
        PASSED,
        "rho_low",
        "uncertain",
        "push: rho's lower bound is unknown, 0.5 is needed",
    ),
    (found(n=39), PASSED, "scores", "too few scores", "push: 39 scores, 40 are needed"),
    (
        found(rho=None, bonett_wright=None, bca=None),
        PASSED,
        "constant",
        "disagrees",
        "push: rewards or scores are constant, so nothing can agree",
    ),
    (
        found(alpha=0.31, overlap=20, n_raters=2),
        PASSED,
        "alpha",
        "rubric broken",
        (
            "push: the rubric is broken: raters do not agree with each other, alpha is 0.310, 0.67 is needed over 20 "
            "completions"
        ),
    ),
    (
        found(alpha=None, overlap=25, n_raters=2),
        PASSED,
        "alpha",
        "rubric broken",
        (
            "push: the rubric is broken: raters gave every completion the same score, so that alpha is unknown, 0.67 "
            "is needed over 25 completions"
        ),
    ),
    (
        found(worst_in_top_quartile=2),
        PASSED,
        "worst_in_top_quartile",
        "disagrees",
        "push: 2 completions scored 1 have a reward in the top quartile, 0 may have",
    ),
    (
        found(best_without_reward=1),
        PASSED,
        "best_without_reward",
        "disagrees",
        "push: 1 of 10 completions scored 5 have reward 0, 5 % may have",
    ),
    (
        found(constant_groups=6),
        PASSED,
        "constant_groups",
        "disagrees",
        (
            "push: all completions of a prompt have the same reward in 6 of 10 prompts, 50 % may have: GRPO learns "
            "nothing there"
        ),
    ),
    (
        GOOD,
        FAILED,
        "probe:empty",
        "probe failed",
        "push: probe empty failed: at most 0.400 on 10 prompts, may be 0.25",
    ),
]


@pytest.mark.parametrize(("agreement", "probes", "check", "verdict", "reason"), ALONE, ids=[row[4] for row in ALONE])
def test_each_objection_alone_keeps_the_gate_shut(
    agreement: Agreement, probes: dict[str, Probe], check: str, verdict: AuditVerdict, reason: str
) -> None:
    refused = audit(agreement, probes)
    assert refused.verdict == verdict
    gate = decide({"churn": judge("churn", GOOD, PASSED, CONFIG), "push": refused}, [], ["rubric"], CONFIG)
    assert not gate.passed
    assert [(objection.check, objection.task) for objection in gate.objections] == [(check, "push")]
    assert gate.reasons == (reason,)


@pytest.mark.parametrize(
    ("at_the_limit", "beyond", "check"),
    [
        ({"rho": 0.70}, {"rho": 0.6999}, "rho"),
        ({"bca": (0.50, 0.9)}, {"bca": (0.4999, 0.9)}, "rho_low"),
        ({"n": 40}, {"n": 39}, "scores"),
        ({"alpha": 0.67, "overlap": 20}, {"alpha": 0.6699, "overlap": 20}, "alpha"),
        ({"alpha": -0.5, "overlap": 19}, {"alpha": -0.5, "overlap": 20}, "alpha"),
        ({"worst_in_top_quartile": 0}, {"worst_in_top_quartile": 1}, "worst_in_top_quartile"),
        ({"best": 20, "best_without_reward": 1}, {"best": 19, "best_without_reward": 1}, "best_without_reward"),
        ({"best": 60, "best_without_reward": 3}, {"best": 60, "best_without_reward": 4}, "best_without_reward"),
        ({"best": 0, "best_without_reward": 0}, {"best": 1, "best_without_reward": 1}, "best_without_reward"),
        ({"constant_groups": 5}, {"constant_groups": 6}, "constant_groups"),
        ({"prompt_groups": 11, "constant_groups": 5}, {"prompt_groups": 11, "constant_groups": 6}, "constant_groups"),
        ({"prompt_groups": 0, "constant_groups": 0}, {"prompt_groups": 1, "constant_groups": 1}, "constant_groups"),
    ],
)
def test_thresholds_are_met_exactly_at_their_values(
    at_the_limit: dict[str, Any], beyond: dict[str, Any], check: str
) -> None:
    assert checks(found(**at_the_limit)) == []
    assert checks(found(**beyond)) == [check]


@pytest.mark.parametrize("best", range(20, 1001, 20))
def test_five_percent_is_met_exactly_whatever_the_number(best: int) -> None:
    assert checks(found(best=best, best_without_reward=best // 20)) == []
    assert checks(found(best=best, best_without_reward=best // 20 + 1)) == ["best_without_reward"]


@pytest.mark.parametrize(
    ("changes", "agreement"),
    [
        ({"min_rho": 0.9}, GOOD),
        ({"min_rho_low": 0.8}, GOOD),
        ({"min_scores_per_task": 41}, GOOD),
        ({"min_alpha": 0.9}, found(alpha=0.8, overlap=20)),
        ({"min_overlap": 10}, found(alpha=0.1, overlap=10)),
        ({"max_best_without_reward": 0.0}, found(best=100, best_without_reward=1)),
        ({"max_constant_groups": 0.1}, found(constant_groups=2)),
    ],
)
def test_thresholds_are_those_of_the_configuration(changes: dict[str, Any], agreement: Agreement) -> None:
    assert checks(agreement) == []
    assert len(checks(agreement, config=CONFIG.model_copy(update=changes))) == 1


def test_the_gravest_finding_is_the_verdict() -> None:
    agreement, probes = found(n=39, rho=0.6, bca=(0.4, 0.8), alpha=0.2, overlap=20), FAILED
    verdicts = [audit(agreement, probes).verdict]
    agreement = replace(agreement, alpha=0.9)
    verdicts.append(audit(agreement, probes).verdict)
    verdicts.append(audit(agreement).verdict)
    agreement = replace(agreement, overall=replace(agreement.overall, n=40))
    verdicts.append(audit(agreement).verdict)
    agreement = replace(agreement, overall=replace(agreement.overall, rho=0.8))
    verdicts.append(audit(agreement).verdict)
    agreement = replace(agreement, overall=replace(agreement.overall, bca=(0.6, 0.9)))
    verdicts.append(audit(agreement).verdict)
    assert verdicts == ["rubric broken", "probe failed", "too few scores", "disagrees", "uncertain", "agrees"]


def test_refuses_a_task_that_nobody_scored() -> None:
    gate = decide({"push": audit()}, ["churn", "insights"], ["human"], CONFIG)
    assert not gate.passed
    assert gate.reasons == ("churn: no completion is scored", "insights: no completion is scored")


@pytest.mark.parametrize(
    ("kinds", "refusal"),
    [
        (["human"], None),
        (["human", "human"], None),
        (["rubric"], "scores are by rubric, and audit.require_human asks for people"),
        (["model", "human"], "scores are by human, model, and audit.require_human asks for people"),
    ],
)
def test_people_can_be_demanded(kinds: list[RaterKind], refusal: str | None) -> None:
    gate = decide({"push": audit()}, [], kinds, AuditConfig(require_human=True))
    assert gate.passed is (refusal is None)
    if refusal:
        assert gate.reasons == (refusal,)
    assert decide({"push": audit()}, [], kinds, CONFIG).passed


def test_a_reward_that_is_no_number_is_refused() -> None:
    assert checks(found(no_numbers=1)) == ["no_numbers"]


def test_nothing_scored_is_no_permission() -> None:
    gate = decide({}, [], [], CONFIG)
    assert not gate.passed
    assert gate.reasons == ("no completion is scored at all",)
