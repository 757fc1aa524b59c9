"""Preregistration: the plan of an evaluation, stored as an artifact before the test split is read.

A margin chosen after the answers were seen shows nothing, and neither does the best of many looks. So the plan is
stored first, with its time, and each evaluation states which look of its challengers at this test split it was.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from schemas.artifact import ArtifactRecord
from schemas.config.evaluate import RUNGS, General, OverRungs, Rung
from schemas.tables.prompts import TEST_FILE
from schemas.tasks import SpecName, TaskName
from tasks.evaluate.report.background import Looks
from tasks.lineage.store.artifacts import ArtifactDamaged, ArtifactStore

PLAN_FILE: Final = "plan.json"


class EvaluationPlan(BaseModel):
    """Everything that decides the possible conclusions of an evaluation."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    margin: float  # Non-inferiority margin, in reward.
    truth_loss: float | None = None
    """Share of the base's ground truth on a task that may be lost; None in plans that are older than this limit."""
    general: General = "off"  # What a loss of general instructions does; they are not asked in older plans.
    general_loss: float | None = None  # Share of those that the base follows that may be lost; None in older plans.
    floors: Mapping[TaskName, Mapping[str, float]] = Field(default_factory=dict)
    """By task, the least of its ground-truth metrics with which it counts as learned; empty in older plans."""
    min_variety: float = 0.0  # Least variety of a task's answers, as a share of the references'; 0 in older plans.
    resamples: int
    seed: int  # Seed of the resampling and of every sampled token.
    temperature: float
    samples: int
    max_tokens: int
    spec: SpecName
    reward_version: str
    test_split: str
    base: str
    challengers: Mapping[int, str]  # The sha256 of each tested policy, by its training seed.
    rungs: tuple[Rung, ...] = ()  # What costs less and is compared with them; empty in older plans.
    over_rungs: OverRungs = "report"
    champion: str | None  # The sha256 of the policy that the chosen challenger would replace.


def write_plan(plan: EvaluationPlan, folder: Path) -> None:
    """Write `plan.json`; equal plans give equal bytes, so that an earlier plan keeps its time."""
    (folder / PLAN_FILE).write_text(plan.model_dump_json(indent=1), encoding="utf-8")


def read_plan(folder: Path) -> EvaluationPlan:
    """Read a plan artifact."""
    plan = json.loads((folder / PLAN_FILE).read_bytes())
    # An older plan with a prompt search still counts as a look at the test split.
    plan.pop("prompt_search", None)
    plan["rungs"] = [rung for rung in plan.get("rungs", ()) if rung in RUNGS]
    return EvaluationPlan.model_validate(plan)


def count_looks(store: ArtifactStore, plan: ArtifactRecord) -> Looks:
    """Count the looks of the plan's challengers at its test split, by the evaluations in the store.

    Evaluating the same plan again is the same look: it gives the same numbers. Another plan is another look.
    """
    planned = read_plan(store.path(plan.sha256))
    plans = dict(_plans(store, planned))
    evaluated = {evaluation.inputs.get("plan") for evaluation in store.records("evaluation")} - {plan.sha256}
    earlier = [each for sha256, each in plans.items() if sha256 in evaluated]
    margins = [each.margin for each in earlier if each.margin != planned.margin]
    recorded = [store.record(sha256).created_at for sha256, each in plans.items() if each.margin == planned.margin]
    return Looks(
        number=1 + len(earlier),
        margin_recorded_at=min(recorded).isoformat(timespec="seconds"),
        first_read_at=min(_times_read(store, planned)).isoformat(timespec="seconds"),
        margin_before=margins[0] if margins else None,
    )


def _plans(store: ArtifactStore, planned: EvaluationPlan) -> Iterator[tuple[str, EvaluationPlan]]:
    """Yield each plan of a challenger for the same test split, including this one, the newest first."""
    for record in store.records("plan"):
        try:
            plan = read_plan(store.path(record.sha256))
        except (FileNotFoundError, ValueError):
            # One that is lost, or of another format version: it can no longer be evaluated.
            continue
        if plan.test_split == planned.test_split and _weights(store, plan) & _weights(store, planned):
            yield record.sha256, plan


def _weights(store: ArtifactStore, plan: EvaluationPlan) -> set[str]:
    """Return the challengers' weights with their bases: adopted again by another name, they are the same challenger."""
    found = {*plan.challengers.values()}
    for sha256 in plan.challengers.values():
        with suppress(ArtifactDamaged):
            policy = store.record(sha256)
            weights = [digest for name, digest in policy.files.items() if name.endswith(".safetensors")]
            found |= {f"{policy.inputs.get('base')} {digest}" for digest in weights}
    return found


def _times_read(store: ArtifactStore, planned: EvaluationPlan) -> Iterator[datetime]:
    """Yield the times at which answers of each challenger to the test split were made."""
    for answers in store.records("answers"):
        if answers.inputs.get("policy") in planned.challengers.values():
            with suppress(ArtifactDamaged):
                if store.record(answers.inputs["dataset"]).files.get(TEST_FILE) == planned.test_split:
                    yield answers.created_at
