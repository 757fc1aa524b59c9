"""Documents and scores of the task `tucano_commerce` of lm-evaluation-harness, which its YAML file names."""

from collections.abc import Mapping, Sequence
from typing import Any

from datasets import Dataset

from tasks.benchmark.scorers import open_benchmark


def dataset(*, benchmark: str, **_: object) -> dict[str, Dataset]:
    """Return the items of the benchmark that `--metadata` names; no reference is in them, for the scorer has it."""
    items = open_benchmark(benchmark).items.values()
    documents = [
        {"id": item.id, "task": item.task, "system": item.system, "prompt": item.prompt, "benchmark": benchmark}
        for item in items
    ]
    return {"test": Dataset.from_list(documents)}


def process_results(document: Mapping[str, Any], results: Sequence[str]) -> dict[str, float]:
    """Return the reward, also by the task's own name, and the ground truth of one answer."""
    score = open_benchmark(document["benchmark"]).score(document["id"], results[0])
    truth = {} if score.truth is None else {"truth": score.truth}
    return {"reward": score.reward, f"reward_{document['task']}": score.reward, **truth}
