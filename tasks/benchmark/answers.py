"""Answers to the benchmark: a file of them, and their scores by task with intervals."""

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from schemas.errors import InputError
from schemas.json_lines import read_json_lines
from schemas.tasks import TASK_NAMES, SpecName
from tasks.benchmark.folder import BenchmarkItem
from tasks.benchmark.scorers import Benchmark, BenchmarkScore

Count = Annotated[int, Field(ge=0)]
RESAMPLES: Final = 2_000
COVERAGE: Final = 0.95


class BenchmarkAnswer(BaseModel):
    """One answer: a line of a file of answers. Unknown keys are dropped."""

    model_config = ConfigDict(frozen=True)

    id: str = Field(min_length=1)
    """Identity of the item."""
    completion: str
    """The model's answer, as it came."""
    stop_reason: str | None = None
    """Reason why the answer ended, as the model's side names it."""
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """Time from the request to the answer; on this machine, its share of the batch's."""
    source: str | None = None
    """What answered, and how: the model and its decoding."""


def read_answers(path: Path, items: Sequence[BenchmarkItem]) -> tuple[BenchmarkAnswer, ...]:
    """Read a file of answers: at least one to each item, and as many to each.

    InputError where one has fewer answers than another: a mean of what was answered alone would flatter.
    """
    answers = read_json_lines(path, BenchmarkAnswer, "answers")
    counts = dict.fromkeys((item.id for item in items), 0)
    for number, answer in enumerate(answers, start=1):
        if answer.id not in counts:
            raise InputError(
                f"answers {path}: line {number}: the benchmark has no item {answer.id[:80]!r}; answer the items of its "
                "test.jsonl, by their ids"
            )
        counts[answer.id] += 1
    fewest, most = min(counts.values()), max(counts.values())
    if fewest < most or not fewest:
        short = sum(count < most or not count for count in counts.values())
        raise InputError(
            f"answers {path}: {short} of {len(counts)} items have fewer answers than others, or none; give each item "
            "as many, an empty completion where the model gave none"
        )
    return answers


def score_answers(benchmark: Benchmark, answers: Sequence[BenchmarkAnswer], spec: SpecName) -> dict[str, Any]:
    """Return sums over all answers (None unless each has its own) and, by task, means with their intervals."""
    found: dict[str, list[BenchmarkScore]] = defaultdict(list)
    for answer in answers:
        found[answer.id].append(benchmark.score(answer.id, answer.completion, spec))
    tasks: dict[str, Any] = {}
    for task in TASK_NAMES:
        if scores := [found[item.id] for item in benchmark.items.values() if item.task == task]:
            tasks[task] = _summary(scores)
    return {
        "spec": spec,
        "answers": len(answers),
        "tokens": {
            "prompt": _sum(answer.prompt_tokens for answer in answers),
            "completion": _sum(answer.completion_tokens for answer in answers),
        },
        "seconds": _sum(answer.seconds for answer in answers),
        "tasks": tasks,
    }


def _sum(numbers: Iterable[float | None]) -> float | None:
    known = list(numbers)
    return None if None in known else sum(filter(None, known))


def _summary(items: Sequence[Sequence[BenchmarkScore]]) -> dict[str, Any]:
    truths = [[score.truth for score in scores if score.truth is not None] for scores in items]
    known = [fmean(values) for values in truths if values]
    every = [score.components for scores in items for score in scores]
    return {
        "n": len(items),
        "reward": mean_with_interval([fmean(score.reward for score in scores) for scores in items]),
        "truth": mean_with_interval(known) if known else None,
        "components": {name: fmean(components.get(name, 0.0) for components in every) for name in every[0]},
    }


def mean_with_interval(scores: Sequence[float]) -> list[float]:
    """Return the mean of some questions' scores with the ends of its percentile interval of `COVERAGE`.

    By the bootstrap over questions (Efron and Tibshirani 1993, 13.3), in plain Python.
    """
    generator = random.Random(0)
    means = sorted(fmean(generator.choices(scores, k=len(scores))) for _ in range(RESAMPLES))
    cut = round((1 - COVERAGE) / 2 * RESAMPLES)
    return [fmean(scores), means[cut], means[-1 - cut]]
