"""What an evaluation will be held against, written down as an artifact before the test split is read.

A margin that was chosen after the answers were seen proves nothing, and neither does the best of many looks. So the
plan is made first, with its time, and each evaluation says which look of its challengers at this test split it was.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

from schemas.artifact import ArtifactRecord
from schemas.tasks import SpecName
from tasks.evaluate.background import Looks
from tasks.lineage.artifacts import ArtifactDamaged, ArtifactStore

PLAN_FILE: Final = "plan.json"
TEST_SPLIT: Final = "data/test.parquet"
"""Of a dataset artifact."""


class EvaluationPlan(BaseModel):
    """All that decides what an evaluation may conclude."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    margin: float
    """Non-inferiority margin, in reward."""
    resamples: int
    """Bootstrap and permutation resamples."""
    seed: int
    """Seed of the resampling and of every sampled token."""
    temperature: float
    """Sampling temperature of the answers."""
    samples: int
    """Answers of each model to each prompt."""
    max_tokens: int
    """Longest answer, in tokens."""
    spec: SpecName
    """Which reward the answers are scored by."""
    reward_version: str
    """Digest of the reward's code and word lists."""
    test_split: str
    """The sha256 of the test split's file."""
    base: str
    """The sha256 of the base."""
    challengers: Mapping[int, str]
    """The sha256 of each policy that is tested, by its training seed."""
    champion: str | None
    """The sha256 of the policy that the chosen challenger would replace."""


def write_plan(plan: EvaluationPlan, folder: Path) -> None:
    """Write `plan.json`; equal plans give equal bytes, so that an earlier plan keeps its time."""
    (folder / PLAN_FILE).write_text(plan.model_dump_json(indent=1), encoding="utf-8")


def read_plan(folder: Path) -> EvaluationPlan:
    """Read a plan artifact."""
    return EvaluationPlan.model_validate_json((folder / PLAN_FILE).read_bytes())


def count_looks(store: ArtifactStore, plan: ArtifactRecord) -> Looks:
    """Say which look of the plan's challengers at its test split comes now, by the evaluations that the store holds.

    Args:
        store: Holds the plan, the answers and every earlier evaluation.
        plan: The plan's record; its time is when the margin was recorded.
    """
    planned = read_plan(store.path(plan.sha256))
    earlier = list(_earlier_plans(store, planned))
    margins = [before.margin for before in earlier if before.margin != planned.margin]
    first_read = min(_times_read(store, planned), default=None)
    return Looks(
        number=1 + len(earlier),
        margin_recorded_at=plan.created_at.isoformat(timespec="seconds"),
        first_read_at=None if first_read is None else first_read,
        margin_before=margins[0] if margins else None,
    )


def _earlier_plans(store: ArtifactStore, planned: EvaluationPlan) -> Iterator[EvaluationPlan]:
    """Yield the plan of each evaluation of one of the challengers on the same test split, the newest first."""
    for evaluation in store.records("evaluation"):
        try:
            before = read_plan(store.path(evaluation.inputs["plan"]))
        except (KeyError, ArtifactDamaged):
            continue
        if before.test_split == planned.test_split and _share_a_challenger(before, planned):
            yield before


def _share_a_challenger(first: EvaluationPlan, second: EvaluationPlan) -> bool:
    return not set(first.challengers.values()).isdisjoint(second.challengers.values())


def _times_read(store: ArtifactStore, planned: EvaluationPlan) -> Iterator[str]:
    """Yield when answers of each challenger to the test split were made."""
    for answers in store.records("answers"):
        if answers.inputs.get("policy") not in planned.challengers.values():
            continue
        try:
            dataset = store.record(answers.inputs["dataset"])
        except ArtifactDamaged:
            continue
        if dataset.files.get(TEST_SPLIT) == planned.test_split:
            yield answers.created_at.isoformat(timespec="seconds")
