"""Adapter for Inspect: the task `tucano_commerce` and its scorer.

inspect eval inspect_task.py@tucano_commerce -T benchmark=FOLDER --model ...
"""

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ChatMessageSystem, ChatMessageUser
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState, generate

from tasks.benchmark.folder import BenchmarkItem
from tasks.benchmark.scorers import open_benchmark


@task
def tucano_commerce(benchmark: str) -> Task:
    """Return the items with their scorer."""
    samples = [_sample(item) for item in open_benchmark(benchmark).items.values()]
    return Task(dataset=MemoryDataset(samples), solver=generate(), scorer=commerce_reward(benchmark))


@scorer(metrics={"reward": [mean(), stderr()], "truth": [mean(), stderr()]})
def commerce_reward(benchmark: str) -> Scorer:
    """Return the scorer of reward and ground truth."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 - the signature is Inspect's
        completion = state.output.completion
        found = open_benchmark(benchmark).score(str(state.sample_id), completion)
        # Without a truth a value stays unscored, which Inspect leaves out of means.
        truth = float("nan") if found.truth is None else found.truth
        return Score(
            value={"reward": found.reward, "truth": truth},
            answer=completion,
            metadata={"components": dict(found.components)},
        )

    return score


def _sample(item: BenchmarkItem) -> Sample:
    messages: list[ChatMessage] = [ChatMessageSystem(content=item.system), ChatMessageUser(content=item.prompt)]
    return Sample(id=item.id, input=messages, metadata={"task": item.task})
