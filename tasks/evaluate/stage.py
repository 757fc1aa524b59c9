"""The evaluate stage: score the answers of base and tuned to the test split, compare them, and write the report."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from schemas.evaluate_config import EvaluateConfig
from schemas.documents import PairedScore, ScoredRollout
from schemas.store_files import read_store
from schemas.tasks import TASK_NAMES, SpecName, TaskName
from tasks.commerce import registry
from tasks.commerce.sandbox import Databases
from tasks.evaluate.answer import BASE_FILE, tuned_file
from tasks.evaluate.compare import Comparison, compare, write_report
from tasks.evaluate.report import AnsweredPrompt, Background, write_page

BASE_SCORES_FILE = "base.scores.jsonl"
TUNED_SCORES_FILE = "tuned.scores.jsonl"
METRICS_FILE = "ground_truth.json"


def run(
    config: EvaluateConfig,
    spec: SpecName,
    seed: int,
    *,
    store: Path,
    training_seeds: Sequence[int],
    chosen_seed: int,
    training: Mapping[str, Any],
    identities: Mapping[str, str],
    output: Path,
) -> Comparison:
    """Score and compare the rollouts that `answer` left in the output folder, and write scores, metrics and reports.

    Args:
        config: Margin and resamples.
        spec: Which reward the answers are scored by.
        seed: Seed of the resampling; the base, which no training made, is scored under it.
        store: Folder of the store that generated SQL is executed on.
        training_seeds: Seeds of the trainings that made the tuned policies, all of which are compared with the base.
        chosen_seed: Which of them made the policy that may be promoted: its answers, ground truth and learning curve
            are shown.
        training: That policy's training summary: the learning curve and the chosen step.
        identities: Digests of what was compared, for the report.
        output: Holds the rollouts; gets everything else.
    """
    databases = Databases.from_store(read_store(store))
    base = _score(output / BASE_FILE, databases, spec)
    tuned = {each: _score(output / tuned_file(each, training_seeds), databases, spec) for each in training_seeds}
    base_scores = _as_paired(base, seed)
    tuned_scores = [score for each, scored in tuned.items() for score in _as_paired(scored, each)]
    _write_lines(output / BASE_SCORES_FILE, base_scores)
    _write_lines(output / TUNED_SCORES_FILE, tuned_scores)
    ground_truth = _ground_truth(base, tuned[chosen_seed], databases)
    (output / METRICS_FILE).write_text(json.dumps(ground_truth, indent=1), encoding="utf-8")
    comparison = compare(base_scores, tuned_scores, margin=config.margin, resamples=config.resamples, seed=seed)
    write_report(comparison, output)
    background = Background(
        answers=[
            AnsweredPrompt(before.task, before.prompt_id, before.prompt, before.completion, after.completion)
            for before, after in zip(base, tuned[chosen_seed], strict=True)
        ],
        learning_curve=[(entry["step"], entry["mean_reward"]) for entry in training["validation"]],
        chosen_step=training["chosen_step"],
        ground_truth=ground_truth,
        identities={**identities, "rewards": f"{spec} {registry.reward_version()}"},
    )
    write_page(comparison, background, output)
    return comparison


def _score(file: Path, databases: Databases, spec: SpecName) -> list[ScoredRollout]:
    from schemas.rollout_tables import ScoredRollouts, read_rollouts
    from schemas.table_check import as_table, validate_table

    scored = [registry.score_rollout(rollout, databases, spec) for rollout in read_rollouts(file)]
    validate_table(as_table(scored, ScoredRollouts), ScoredRollouts, f"scored rollouts of {file}")
    return scored


def _as_paired(scored: Sequence[ScoredRollout], seed: int) -> list[PairedScore]:
    return [
        PairedScore(prompt_id=rollout.prompt_id, task=rollout.task, seed=seed, sample=0, score=rollout.reward)
        for rollout in scored
    ]


def _write_lines(file: Path, scores: Iterable[PairedScore]) -> None:
    file.write_text("".join(score.model_dump_json() + "\n" for score in scores), encoding="utf-8")


def _ground_truth(
    base: Sequence[ScoredRollout], tuned: Sequence[ScoredRollout], databases: Databases
) -> dict[TaskName, dict[str, tuple[float, float]]]:
    """Return what is no reward: each task's metrics of base and tuned."""
    before, after = _by_task(base), _by_task(tuned)
    metrics = {}
    for task in before:
        of_base = registry.TASKS[task].metric(before[task], databases)
        of_tuned = registry.TASKS[task].metric(after[task], databases)
        metrics[task] = {name: (value, of_tuned[name]) for name, value in of_base.items() if name in of_tuned}
    return metrics


def _by_task(scored: Sequence[ScoredRollout]) -> dict[TaskName, list[ScoredRollout]]:
    ordered = sorted(scored, key=lambda rollout: TASK_NAMES.index(rollout.task))
    return {task: list(rollouts) for task, rollouts in groupby(ordered, key=lambda rollout: rollout.task)}
