"""Base against tuned: from paired scores to the numbers, the verdict and `report.json`."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from schemas.documents import PairedScore
from schemas.errors import InputError
from schemas.tasks import TASK_NAMES, TaskName
from tasks.evaluate.gate import PromotionGate, decide
from tasks.evaluate.pairing import Answer, Pair, pair
from tasks.evaluate.statistics import Block, correct, measure

REPORT_FILE = "report.json"


@dataclass(frozen=True)
class PromptScores:
    """Both models' scores on one prompt, averaged over seeds and samples."""

    task: TaskName
    """The prompt's task."""
    prompt_id: str
    """Identity of the prompt."""
    base: float
    """Mean score of the base model."""
    tuned: float
    """Mean score of the tuned model."""

    @property
    def difference(self) -> float:
        """Tuned minus base, free of rounding errors."""
        return round(self.tuned - self.base, 9)


@dataclass(frozen=True)
class Comparison:
    """Everything that is known of tuned against base."""

    overall: Block
    """Over all prompts alike. Tasks are not strata here, which makes the interval wider rather than narrower."""
    tasks: Mapping[TaskName, Block]
    """By task, corrected for their number."""
    gate: PromotionGate
    """Whether the tuned model may be promoted."""
    seed_differences: Mapping[int, float]
    """Mean difference over all prompts, by training seed."""
    prompts: tuple[PromptScores, ...]
    """The scores behind the numbers, by task and prompt."""
    margin: float
    """The non-inferiority margin that the verdicts used."""

    def report(self) -> dict[str, Any]:
        """Return the document that `report.json` holds."""
        return {
            "overall": asdict(self.overall),
            "tasks": {task: asdict(block) for task, block in self.tasks.items()},
            "gate": {"verdict": self.gate.verdict, "reasons": list(self.gate.reasons)},
        }


def compare(
    base: Sequence[PairedScore], tuned: Sequence[PairedScore], *, margin: float, resamples: int, seed: int
) -> Comparison:
    """Pair the scores and compute every number of the comparison; the same rows give the same numbers.

    Args:
        base: Scores of the base model.
        tuned: Scores of the tuned model.
        margin: Non-inferiority margin, in score, above 0 and below 1.
        resamples: Bootstrap and permutation resamples.
        seed: Seed of the resampling, 0 or more.

    Raises:
        InputError: A row is there twice or without its partner, a prompt lacks a seed, or there are no rows.
    """
    if not 0 < margin < 1:
        raise InputError(f"margin is {margin}; it must lie between 0 and 1, such as 0.05")
    pairs = pair(base, tuned)
    prompts = _average_by_prompt(pairs)
    seeds = sorted({answer.seed for answer in pairs})

    def block(scope: str, scores: Sequence[PromptScores]) -> Block:
        return measure(
            np.array([prompt.base for prompt in scores]),
            np.array([prompt.tuned for prompt in scores]),
            n_seeds=len(seeds),
            margin=margin,
            resamples=resamples,
            # A stream of its own for each block: a task more or less leaves the other tasks' numbers as they are.
            rng=np.random.default_rng([seed, *scope.encode()]),
        )

    by_task = {task: [prompt for prompt in prompts if prompt.task == task] for task in TASK_NAMES}
    overall = block("overall", prompts)
    tasks = correct({task: block(task, scores) for task, scores in by_task.items() if scores}, margin)
    seed_differences = {each: _seed_difference(pairs, each) for each in seeds}
    gate = decide(overall, tasks, seed_differences, margin)
    return Comparison(overall, tasks, gate, seed_differences, prompts, margin)


def write_report(comparison: Comparison, folder: Path) -> Path:
    """Write `report.json` into a folder, which is made if missing, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / REPORT_FILE
    path.write_text(json.dumps(comparison.report(), indent=2, allow_nan=False) + "\n", encoding="utf-8")
    return path


def _average_by_prompt(pairs: Mapping[Answer, Pair]) -> tuple[PromptScores, ...]:
    by_prompt: dict[tuple[TaskName, str], list[Pair]] = defaultdict(list)
    for answer, scores in pairs.items():
        by_prompt[answer.task, answer.prompt_id].append(scores)
    return tuple(
        PromptScores(task, prompt_id, fmean(each.base for each in scores), fmean(each.tuned for each in scores))
        for (task, prompt_id), scores in by_prompt.items()
    )


def _seed_difference(pairs: Mapping[Answer, Pair], seed: int) -> float:
    prompts = _average_by_prompt({answer: scores for answer, scores in pairs.items() if answer.seed == seed})
    return round(fmean(prompt.difference for prompt in prompts), 9)
