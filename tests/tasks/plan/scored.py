"""Cheap scores of one or more tasks, written by hand."""

from collections.abc import Mapping, Sequence

from schemas.tasks import TaskName
from tasks.plan.scores import CheapScores, Group, Served


def scored(
    task: TaskName, served: Mapping[str, Sequence[float]], groups: Mapping[str, Sequence[Sequence[float]]] | None = None
) -> CheapScores:
    """Return the scores of a task's prompts by rung, and a group for each of its first prompts by model."""
    return CheapScores(
        served=tuple(
            Served(rung=rung, task=task, prompt_id=f"{task}-{number}", score=score, truth=None)
            for rung, scores in served.items()
            for number, score in enumerate(scores)
        ),
        groups=tuple(
            Group.model_validate({"model": model, "task": task, "prompt_id": f"{task}-{number}", "scores": of_prompt})
            for model, drawn in (groups or {}).items()
            for number, of_prompt in enumerate(drawn)
        ),
    )
