"""Rollouts of a prompt in a training: number per step, and rewards."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl
from polars.exceptions import PolarsError

from schemas.artifact import ArtifactRecord
from schemas.tasks import TASK_NAMES
from tasks.lineage.graph.descriptions import is_rollout_log
from tasks.lineage.graph.graph import Node
from tasks.lineage.store.inventory import Inventory, short

PAIRS_FILE: Final = "pairs.json"
"""File of a policy trained by DPO with its preference pairs."""


@dataclass(frozen=True)
class StepOfPrompt:
    """Rollouts of one prompt at one step."""

    step: int
    rollouts: int
    trained_on: int
    """Number of them in the loss."""
    mean: float
    """Their mean reward, in [0, 1]."""
    low: float
    high: float


@dataclass(frozen=True)
class PromptRollouts:
    """All rollouts of one prompt in one training."""

    policy: str
    """The sha256 of the resulting policy."""
    prompt_id: str
    steps: tuple[StepOfPrompt, ...]
    """In order; never empty."""
    chosen_step: int | None
    """The step of the policy's weights; None if its summary cannot be read."""

    @property
    def part_in_the_policy(self) -> str:
        """Return their role for the policy, whose weights may be from an earlier step."""
        if self.chosen_step is None or self.steps[0].step <= self.chosen_step:
            return "trained"
        return f"sampled after step {self.chosen_step}, whose weights it has"

    @property
    def node(self) -> Node:
        """Return their node, with one fact per step."""
        key = f"rollouts:{self.policy}/{self.prompt_id}"
        facts = {
            f"step {each.step}": f"{each.rollouts} rollouts, reward {each.mean:.3f} ({each.low:.3f}-{each.high:.3f}), "
            f"{each.trained_on} trained on"
            for each in self.steps
        }
        count = sum(each.rollouts for each in self.steps)
        return Node(key, "rollouts", f"{count} rollouts of prompt {short(self.prompt_id)}", facts)


def read_rollouts(inventory: Inventory, policy: ArtifactRecord, prompt_ids: Collection[str]) -> list[PromptRollouts]:
    """Return a training's rollouts of some prompts; prompts never drawn are left out.

    A log that cannot be read has none; the policy's node says so.
    """
    folder = inventory.folder(policy.sha256)
    logs = [folder / name for name in sorted(policy.files) if is_rollout_log(name)]
    if not logs:
        return []
    reward = pl.col("reward")
    try:
        rows = (
            pl.scan_parquet(logs, glob=False)
            .filter(pl.col("prompt_id").is_in(sorted(prompt_ids)))
            .group_by("prompt_id", "task", "step")
            .agg(pl.len(), pl.col("advantage").count(), reward.mean(), low=reward.min(), high=reward.max())
            .sort("prompt_id", "step")
            .collect()
        )
    except (OSError, PolarsError):
        return []
    chosen = _chosen_steps(folder)
    return [
        PromptRollouts(
            policy.sha256,
            str(prompt_id),
            tuple(StepOfPrompt(*values) for values in steps.drop("prompt_id", "task").iter_rows()),
            chosen.get(str(task)),
        )
        for (prompt_id, task), steps in rows.group_by("prompt_id", "task", maintain_order=True)
    ]


def part_without_rollouts(inventory: Inventory, policy: ArtifactRecord, prompt_ids: Collection[str]) -> dict[str, str]:
    """Return the role of training prompts of which a training sampled no rollouts.

    DPO learns from pairs made before it began, from some of the prompts, and keeps no rollouts.
    """
    folder = inventory.folder(policy.sha256)
    files = [folder / name for name in policy.files if name.endswith(PAIRS_FILE)]
    if not files:
        return dict.fromkeys(prompt_ids, "in its training split, never sampled")
    try:
        paired = {pair["prompt_id"] for file in files for pair in json.loads(file.read_bytes())}
    except (OSError, ValueError, KeyError, TypeError):
        return dict.fromkeys(prompt_ids, "in its training split")
    return {
        each: "trained by a preference pair" if each in paired else "in its training split, without a preference pair"
        for each in prompt_ids
    }


def _chosen_steps(policy: Path) -> Mapping[str, int]:
    """Return the chosen step by task: the same one, or one per task if each was trained alone."""
    try:
        summary = json.loads((policy / "training.json").read_bytes())
        step = summary["chosen_step"]
        return dict.fromkeys(TASK_NAMES, step) if step is not None else summary["chosen_steps"]
    except (OSError, ValueError, KeyError):
        return {}
