"""Test prompts without a reference: nobody knows what answers them, so they count for no score and no verdict.

Scored by form alone, each model would earn the same on them, and the more of them there were, the surer it would look
that nothing was lost.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from schemas.documents import Rollout
from schemas.errors import InputError
from schemas.tasks import TASK_NAMES, TaskName
from tasks.evaluate.gate import PromotionGate
from tasks.report.wording import worded


class UntoldPrompts(NamedTuple):
    """Number of a task's test prompts without a reference, and of all."""

    untold: int
    prompts: int


def with_reference(answers: Sequence[Rollout]) -> list[Rollout]:
    """Return the answers to prompts of which something of the right answer is known.

    Raises:
        InputError: There are none.
    """
    told = [each for each in answers if each.reference is not None]
    if answers and not told:
        raise InputError(
            "no prompt of the test split has a reference, so that no answer can be judged; have people give references "
            "(`tucano audit references`), or map them"
        )
    return told


def untold_prompts(answers: Sequence[Rollout]) -> dict[TaskName, UntoldPrompts]:
    """Return the prompts without a reference of the tasks that have some, of one model's answers."""
    known = {(each.task, each.prompt_id): each.reference is not None for each in answers}
    prompts, untold = Counter(task for task, _ in known), Counter(task for (task, _), told in known.items() if not told)
    return {task: UntoldPrompts(untold[task], prompts[task]) for task in TASK_NAMES if untold[task]}


def hold_where_untested(gate: PromotionGate, untold: Mapping[TaskName, UntoldPrompts]) -> PromotionGate:
    """Hold, whatever was decided, a model of which a task was not tested at all; say where some prompts count nothing.

    Args:
        gate: The verdict so far.
        untold: Prompts without a reference, by task.
    """
    untested = [
        worded("{task} is not tested: none of its {prompts} test prompts has a reference", task=task, prompts=n.prompts)
        for task, n in untold.items()
        if n.untold == n.prompts
    ]
    partly = [
        worded(
            "{untold} of {prompts} test prompts of {task} have no reference and count for nothing",
            task=task,
            untold=n.untold,
            prompts=n.prompts,
        )
        for task, n in untold.items()
        if n.untold < n.prompts
    ]
    if untested:
        kept = gate.reasons if gate.verdict == "hold" else ()
        return PromotionGate("hold", (*kept, *untested, *partly))
    return PromotionGate(gate.verdict, (*gate.reasons, *partly)) if partly else gate
