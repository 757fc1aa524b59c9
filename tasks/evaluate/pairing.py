"""Two files of scores become pairs, or the rows that have no partner are named.

Pairing is strict: each row of one file has its partner, by task, prompt, seed and sample, in the other. A base model
is not trained, so it may be scored for one seed only, which is then the partner of each of the tuned model's seeds.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from schemas.documents import PairedScore
from schemas.errors import InputError
from schemas.faults import first_few
from schemas.tasks import TaskName


class Answer(NamedTuple):
    """What identifies a row: one sampled answer of one model."""

    task: TaskName
    prompt_id: str
    seed: int
    sample: int

    def __str__(self) -> str:
        return f"{self.task} prompt {self.prompt_id}, seed {self.seed}, sample {self.sample}"


class Pair(NamedTuple):
    """Both models' scores on the same answer."""

    base: float
    tuned: float


def read_scores(path: Path) -> tuple[PairedScore, ...]:
    """Read a JSON Lines file of paired scores.

    Raises:
        InputError: The file cannot be read, is empty, a line is not a paired score with a score in [0, 1], or an
            answer is scored twice.
    """
    from schemas.rollout_tables import read_paired_scores

    return read_paired_scores(path)


def pair(base: Sequence[PairedScore], tuned: Sequence[PairedScore]) -> dict[Answer, Pair]:
    """Return each answer's two scores, in a fixed order whatever the order of the rows.

    Raises:
        InputError: A row is there twice or without its partner, a prompt lacks a seed, or there are no rows.
    """
    base_scores, tuned_scores = _by_answer("base", base), _by_answer("tuned", tuned)
    base_seeds, tuned_seeds = ({answer.seed for answer in scores} for scores in (base_scores, tuned_scores))
    if len(base_seeds) == 1:
        base_scores = {
            answer._replace(seed=seed): score for answer, score in base_scores.items() for seed in tuned_seeds
        }
    elif base_seeds != tuned_seeds:
        seeds = f"base has seeds {sorted(base_seeds)} and tuned {sorted(tuned_seeds)}"
        raise InputError(f"{seeds}; score the same seeds with both, or base with one")
    _refuse_alone("base", base_scores, "tuned", tuned_scores)
    _refuse_alone("tuned", tuned_scores, "base", base_scores)
    _refuse_missing_seeds(tuned_scores, tuned_seeds)
    return {answer: Pair(base_scores[answer], tuned_scores[answer]) for answer in sorted(tuned_scores)}


def _by_answer(name: str, scores: Sequence[PairedScore]) -> dict[Answer, float]:
    if not scores:
        raise InputError(f"{name} has no scores; there is nothing to compare")
    rows: dict[Answer, list[int]] = defaultdict(list)
    for number, score in enumerate(scores, start=1):
        rows[Answer(score.task, score.prompt_id, score.seed, score.sample)].append(number)
    repeated = [f"{answer} in rows {numbers}" for answer, numbers in rows.items() if len(numbers) > 1]
    if repeated:
        raise InputError(f"{name} scores an answer more than once: {first_few(repeated)}; keep one row of each")
    return {answer: scores[numbers[0] - 1].score for answer, numbers in rows.items()}


def _refuse_alone(name: str, scores: Mapping[Answer, float], other_name: str, other: Mapping[Answer, float]) -> None:
    alone = sorted(scores.keys() - other.keys())
    if not alone:
        return
    tasks = sorted({answer.task for answer in alone} - {answer.task for answer in other})
    what = (
        f"task {', '.join(tasks)} is in {name} only"
        if tasks
        else f"{len(alone)} rows of {name} are not in {other_name}"
    )
    raise InputError(f"{what}: {first_few(map(str, alone))}; score the same prompts with both models")


def _refuse_missing_seeds(scores: Mapping[Answer, float], seeds: set[int]) -> None:
    seen: dict[tuple[TaskName, str], set[int]] = defaultdict(set)
    for answer in scores:
        seen[answer.task, answer.prompt_id].add(answer.seed)
    missing = [
        f"{task} prompt {prompt_id} lacks seeds {sorted(seeds - of_prompt)}"
        for (task, prompt_id), of_prompt in sorted(seen.items())
        if of_prompt != seeds
    ]
    if missing:
        raise InputError(f"not every prompt is scored for every seed: {first_few(missing)}; score them")
