"""Run of a task's probes: its reward on completions of known quality, for each prompt of the sheet."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Final

from schemas.documents import Rollout
from schemas.references import REFERENCES
from schemas.tasks import TASK_NAMES, TaskName
from tasks.audit.completions.asked import Asked
from tasks.audit.gate import Probe
from tasks.audit.probes.properties import TOLERANCE, Probed
from tasks.audit.probes.task_probes import TaskProbes
from tasks.audit.reward import RewardFunction
from tasks.commerce.reward import Reference

FOUND_MODULES: Final = ("tasks.audit.probes.*",)
PROBES: Final[Mapping[TaskName, TaskProbes]] = MappingProxyType(
    {name: import_module(f"tasks.audit.probes.{name}").PROBES for name in TASK_NAMES}
)


def run_probes(task: TaskName, rollouts: Sequence[Rollout], score: RewardFunction) -> dict[str, Probe]:
    """Test the reward of a task on each prompt with a sufficient reference.

    Args:
        task: The task.
        rollouts: Rollouts of it; one for each prompt is enough.
        score: The reward under audit.

    Returns:
        The probes by name; if no reference is sufficient, one failed probe.
    """
    by_prompt = {rollout.prompt_id: rollout for rollout in rollouts}
    prompts = [
        Probed(Asked.of(task, rollout.prompt, rollout.reference), rollout, score)
        for rollout in by_prompt.values()
        if rollout.reference is not None and _is_sufficient(task, rollout.reference)
    ]
    if not prompts:
        return {"reference_answer": Probe(False, "no reference has enough to probe the reward with")}
    probes = {probed.name: probe for probed in PROBES[task].properties if (probe := probed.probe(prompts)) is not None}
    return probes | {"weighted_sum": _weighted_sum(prompts), "repeatable": _repeatable(prompts)}


def _is_sufficient(task: TaskName, reference: Reference) -> bool:
    if any(reference[name] is None for name in REFERENCES[task].model_fields if name != "rating"):
        return False
    return PROBES[task].is_sufficient(reference)


def _weighted_sum(prompts: Sequence[Probed]) -> Probe:
    """Compare all rewards with the weighted sum of their specification."""
    fault = next((prompt.fault for prompt in prompts if prompt.fault), None)
    count = sum(prompt.count for prompt in prompts)
    return Probe(not fault, fault or f"{count} rewards are the weighted sum of their components, all from 0 to 1")


def _repeatable(prompts: Sequence[Probed]) -> Probe:
    """Score a few completions of each prompt again, the last first: results must not depend on earlier calls."""
    checked = 0
    for prompt in reversed(prompts):
        for scored in reversed(prompt.first):
            again = prompt.score_again(scored)
            checked += 1
            if not abs(again.reward - scored.reward) <= TOLERANCE:
                return Probe(False, f"a completion earned {scored.reward:.3f} and, asked again, {again.reward:.3f}")
    return Probe(True, f"{checked} completions earned the same when they were asked about again")
