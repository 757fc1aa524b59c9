"""What a training sampled of a prompt: how many rollouts at which step, and what they earned."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl
from polars.exceptions import PolarsError

from schemas.artifact import ArtifactRecord
from schemas.tasks import TASK_NAMES
from tasks.lineage.descriptions import is_rollout_log
from tasks.lineage.graph import Node
from tasks.lineage.inventory import Inventory, short

PAIRS_FILE: Final = "pairs.json"
"""Where a policy that was trained by DPO keeps its preference pairs."""


@dataclass(frozen=True)
class StepOfPrompt:
    """The rollouts of one prompt at one step."""

    step: int
    rollouts: int
    trained_on: int
    """How many of them the loss saw."""
    mean: float
    """Their mean reward, in [0, 1]."""
    low: float
    high: float


@dataclass(frozen=True)
class PromptRollouts:
    """All that one training sampled of one prompt."""

    policy: str
    """The sha256 of the policy that came of the training."""
    prompt_id: str
    steps: tuple[StepOfPrompt, ...]
    """In their order; never empty."""
    chosen_step: int | None
    """The step whose weights the policy has; None where its summary cannot be read."""

    @property
    def part_in_the_policy(self) -> str:
        """What they are for the policy, whose weights may be those of a step before them."""
        if self.chosen_step is None or self.steps[0].step <= self.chosen_step:
            return "trained"
        return f"sampled after step {self.chosen_step}, whose weights it has"

    @property
    def node(self) -> Node:
        """The node of it, with a fact a step."""
        key = f"rollouts:{self.policy}/{self.prompt_id}"
        facts = {
            f"step {each.step}": f"{each.rollouts} rollouts, reward {each.mean:.3f} ({each.low:.3f}-{each.high:.3f}), "
            f"{each.trained_on} trained on"
            for each in self.steps
        }
        count = sum(each.rollouts for each in self.steps)
        return Node(key, "rollouts", f"{count} rollouts of prompt {short(self.prompt_id)}", facts)


def read_rollouts(inventory: Inventory, policy: ArtifactRecord, prompt_ids: Collection[str]) -> list[PromptRollouts]:
    """Return what a training sampled of some prompts; those that it never drew are left out.

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
    """Say what each of some training prompts was for a training that sampled none of them itself.

    DPO learns from pairs that were made of some prompts before it began, and keeps no rollouts.
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
    """Return by task the step that was chosen: the same one, or each task's own where each was trained alone."""
    try:
        summary = json.loads((policy / "training.json").read_bytes())
        step = summary["chosen_step"]
        return dict.fromkeys(TASK_NAMES, step) if step is not None else summary["chosen_steps"]
    except (OSError, ValueError, KeyError):
        return {}
