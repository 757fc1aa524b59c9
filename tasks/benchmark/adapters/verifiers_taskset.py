"""Adapter for verifiers: a taskset whose tasks are the items, each with its reward and ground truth.

The reward reads the answer as it came: `Trace.last_reply` removes blanks around it, which some rewards count.
"""

from collections.abc import Iterator

import verifiers.v1 as vf

from schemas.tasks import TaskName
from tasks.benchmark.scorers import BenchmarkScore, open_benchmark

__all__ = ["TucanoCommerceTaskset"]


class CommerceTaskData(vf.TaskData):
    """Item as verifiers writes it into traces; its reference stays with the scorer."""

    benchmark: str
    """Folder of the benchmark."""
    commerce_task: TaskName


class CommerceVerifiersTask(vf.Task[CommerceTaskData]):
    """Item with its scores."""

    @vf.reward
    async def reward(self, trace: vf.Trace) -> float:
        """Return the reward of the answer, in [0, 1]."""
        return self._score(trace).reward

    @vf.metric
    async def truth(self, trace: vf.Trace) -> dict[str, float]:
        """Return the ground truth of the answer, where it has one."""
        truth = self._score(trace).truth
        return {} if truth is None else {"truth": truth}

    def _score(self, trace: vf.Trace) -> BenchmarkScore:
        answers = trace.assistant_messages
        completion = (answers[-1].content or "") if answers else ""
        return open_benchmark(self.data.benchmark).score(str(self.data.id), completion)


class TucanoCommerceConfig(vf.TasksetConfig):
    """Options of the taskset: `--env.taskset.benchmark FOLDER`."""

    benchmark: str = "benchmark"
    """Folder of the benchmark."""


class TucanoCommerceTaskset(vf.Taskset[CommerceVerifiersTask, TucanoCommerceConfig]):
    """The items of a benchmark."""

    def load(self) -> Iterator[CommerceVerifiersTask]:
        """Yield the items in the order of the file."""
        for item in open_benchmark(self.config.benchmark).items.values():
            data = CommerceTaskData(
                id=item.id,
                prompt=item.prompt,
                system_prompt=item.system,
                benchmark=self.config.benchmark,
                commerce_task=item.task,
            )
            yield CommerceVerifiersTask(data, self.config.task)
