"""Scores of answers to validation prompts, and of the answers that take no model."""

from collections.abc import Sequence
from pathlib import Path

from schemas.tables.prompts import TRAIN_FILE, VALIDATION_FILE, PromptRow, read_prompts
from schemas.tasks import SpecName
from tasks.commerce.registry import score_beside, score_rollout
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.evaluate.answers.baselines import baselines
from tasks.evaluate.ground_truth import truth_of
from tasks.plan.scores import CheapScores, Served


def scored_as_served(
    rung: str, rows: Sequence[PromptRow], texts: Sequence[str], databases: Databases, spec: SpecName
) -> list[Served]:
    """Score a rung's answers to some prompts."""
    rollouts = [row.answered(text) for row, text in zip(rows, texts, strict=True)]
    scored = score_beside([score_rollout(rollout, databases, spec) for rollout in rollouts], spec)
    return [
        Served(
            rung=rung,
            task=each.task,
            prompt_id=row.prompt_id,
            score=each.reward,
            truth=truth_of(each, databases) if each.reference else None,
        )
        for row, each in zip(rows, scored, strict=True)
    ]


def score_without_model(dataset: Path, store: Path, spec: SpecName, seed: int, output: Path) -> None:
    """Choose the evaluation's baselines on the training split, and write their scores on validation prompts.

    SQL has none: to choose one query for all prompts takes longer than all else, and earns next to nothing.
    """
    databases, rows = Databases.open(store), read_prompts(dataset / VALIDATION_FILE)
    by_id = {row.prompt_id: row for row in rows}
    answered = [row.answered("") for row in rows if row.task != "sql_qa"]
    served: list[Served] = []
    for each in baselines(
        read_prompts(dataset / TRAIN_FILE),
        answered,
        lambda rollout: score_rollout(rollout, databases, spec).reward,
        seed,
    ):
        of_rows = [by_id[rollout.prompt_id] for rollout in each.rollouts]
        texts = [rollout.completion for rollout in each.rollouts]
        served += scored_as_served(each.name, of_rows, texts, databases, spec)
    CheapScores(served=tuple(served)).write(output)
