"""Scorers of the benchmark: reward, components and ground truth of one answer, in any Python with pydantic and orjson.

They are the pipeline's own rewards, not a copy. Nothing here imports torch, Prefect, MLflow or polars.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from schemas.errors import InputError
from schemas.tasks import SpecName
from tasks.benchmark.folder import BenchmarkItem, read_databases, read_items
from tasks.commerce.registry import score_rollout
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.evaluate.ground_truth import truth_of

_NO_STORE: Final = Databases(())
"""For the tasks whose answers are not executed."""


@dataclass(frozen=True)
class BenchmarkScore:
    """Score of one answer."""

    reward: float
    """The weighted total of the components, in [0, 1]."""
    components: Mapping[str, float]
    """Each named part of the reward, in [0, 1]."""
    truth: float | None
    """Ground truth, in [0, 1], which is no reward: correctness by the task's strictest measure; None without one."""


class Benchmark:
    """Items of a benchmark and their scorers; any thread may score."""

    def __init__(self, folder: Path | str) -> None:
        """Read the items; the store is read when the first answer in SQL is scored."""
        self._folder = Path(folder)
        self.items: Final = {item.id: item for item in read_items(self._folder)}
        self._local = threading.local()

    def score(self, item: BenchmarkItem | str, completion: str, spec: SpecName = "grounded") -> BenchmarkScore:
        """Score one answer to an item, or to the item of an id, as `tucano score` does.

        The answer is hostile text of any length: it raises nothing, and is executed nowhere but in the sandbox, where
        it is SQL.
        """
        known = self.items.get(item) if isinstance(item, str) else item
        if known is None:
            raise InputError(f"the benchmark {self._folder} has no item {item!r}; use the ids of its test.jsonl")
        rollout = known.answered(completion)
        databases = self._databases() if known.task == "sql_qa" else _NO_STORE
        scored = score_rollout(rollout, databases, spec)
        return BenchmarkScore(scored.reward, scored.components, truth_of(rollout, databases))

    def _databases(self) -> Databases:
        # A copy in SQLite belongs to its thread.
        if not hasattr(self._local, "databases"):
            self._local.databases = read_databases(self._folder)
        databases: Databases = self._local.databases
        return databases


@cache
def open_benchmark(folder: str) -> Benchmark:
    """Return the benchmark of a folder, read once: for adapters, which are asked answer by answer."""
    return Benchmark(folder)
