"""The figures of the audit report: every completion has its point, and thresholds are those of the configuration."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from schemas.audit_record import AuditedTask, AuditRecord
from schemas.config.config import AuditConfig
from schemas.documents import Rollout, ScoredRollout
from schemas.tasks import TaskName
from tasks.audit import figures
from tasks.audit.sheet import ScoredCompletion, ScoredItem
from tasks.audit.statistics import measure

CONFIG = AuditConfig(min_rho=0.81, min_rho_low=0.62)


def judged(number: int, stratum: str, reward: float) -> ScoredCompletion:
    rollout = Rollout(prompt_id="p", task="push", prompt="pergunta", completion=f"resposta {number}")
    scored = ScoredRollout(
        **rollout.model_dump(), reward=reward, components={}, parsed=None, spec="grounded", reward_version="v1"
    )
    return ScoredCompletion(ScoredItem(f"a{number}", stratum, rollout, {"ana": number % 5 + 1}, ()), scored)


def drawn(rows: Sequence[ScoredCompletion]) -> str:
    found = measure(
        [row.rollout.reward for row in rows],
        [row.item.scores for row in rows],
        [row.rollout.prompt_id for row in rows],
        [row.item.stratum == "random" for row in rows],
        np.random.default_rng(0),
    )
    return figures.agreement(rows, found, CONFIG)


def points(svg: str) -> list[int]:
    """Return how many points each stratum has, by its colour; matplotlib writes few as paths, many as uses of one."""
    before_axes = svg[: svg.index("score on the sheet")]
    colours = re.findall(r'(?:<use |\n" clip-path=)[^>]*stroke: (#\w+); stroke-opacity: 0.75', before_axes)
    return list(Counter(colours).values())


def record(**rhos: float | None) -> AuditRecord:
    tasks: dict[TaskName, AuditedTask] = {}
    for task in ("push", "churn"):
        if task in rhos:
            rho = rhos[task]
            low = None if rho is None else rho - 0.2
            tasks[task] = AuditedTask(n=40, rho=rho, rho_low=low, verdict="agrees")
    return AuditRecord(
        spec="grounded",
        reward_version="v1",
        sheet_sha256="1",
        rollouts_sha256="2",
        raters={"ana": "human"},
        verdict="passed",
        reasons=(),
        thresholds={},
        tasks=tasks,
    )


def test_every_completion_has_a_point_among_those_of_its_stratum() -> None:
    strata = ["random"] * 7 + ["by reward"] * 5 + ["written"] * 2 + ["other"]
    svg = drawn([judged(number, stratum, number % 5 / 4) for number, stratum in enumerate(strata)])
    assert points(svg) == [7, 5, 3]
    for words in ("drawn at random: 7", "chosen by reward: 5", "chosen otherwise: 3"):
        assert words in svg


def test_same_numbers_same_bytes() -> None:
    rows = [judged(number, "random", number / 10) for number in range(10)]
    assert drawn(rows) == drawn(rows)
