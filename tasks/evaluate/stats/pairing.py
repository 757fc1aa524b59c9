"""Pairing of two score files, or errors that name the rows that cannot be compared.

Pairing is strict: each row of one file has its partner, by task, prompt, seed and sample, in the other. A base model is
not trained, so it may be scored for one seed only, which is then the partner of each of the tuned model's seeds.
Recorded decodings must agree. The pairs are arranged as tables of prompts by training seeds, the input of the
statistics.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schemas.documents import PairedScore
from schemas.errors import InputError
from schemas.faults import first_few
from schemas.json_lines import read_json_lines
from schemas.shown_text import as_shown
from schemas.tasks import TaskName
from tasks.evaluate.stats.variance import Numbers

_MAX_SHOWN = 64


class AnswerKey(NamedTuple):
    """Identity of a row: one sampled answer of one model."""

    task: TaskName
    prompt_id: str
    seed: int
    sample: int

    def __str__(self) -> str:
        return f"{self.task} prompt {_shown(self.prompt_id)}, seed {self.seed}, sample {self.sample}"


class ScorePair(NamedTuple):
    """Both models' scores on the same answer, and its ground truth if known."""

    base: float
    tuned: float
    base_truth: float | None = None
    tuned_truth: float | None = None


def read_scores(path: Path) -> tuple[PairedScore, ...]:
    """Read a JSON Lines file of paired scores; conditions across rows are checked by `pair`.

    InputError where the file cannot be read, is empty, or a line is not a paired score with a score in [0, 1].
    """
    return read_json_lines(path, PairedScore, "scores")


def pair(base: Sequence[PairedScore], tuned: Sequence[PairedScore]) -> dict[AnswerKey, ScorePair]:
    """Return each answer's two scores, in a fixed order whatever the order of the rows.

    Raises:
        InputError: A row is duplicated or has no partner, a prompt lacks a seed, answers were drawn in different ways,
            only part of a prompt's rows has ground truth, or there are no rows. Rows are counted from 1.
    """
    files = {"base": base, "tuned": tuned}
    base_rows, tuned_rows = (_by_answer(name, scores) for name, scores in files.items())
    base_seeds, tuned_seeds = ({answer.seed for answer in rows} for rows in (base_rows, tuned_rows))
    if len(base_seeds) == 1:
        base_rows = {answer._replace(seed=seed): row for answer, row in base_rows.items() for seed in tuned_seeds}
    elif base_seeds != tuned_seeds:
        seeds = f"base has seeds {_listed(base_seeds)} and tuned {_listed(tuned_seeds)}"
        raise InputError(f"{seeds}; score the same seeds with both, or base with one")
    _refuse_alone("base", base_rows, "tuned", tuned_rows)
    _refuse_alone("tuned", tuned_rows, "base", base_rows)
    _refuse_missing_seeds(tuned_rows, tuned_seeds)
    _refuse_other_decoding(files)
    _refuse_truth_of_some(files)
    found = ((answer, base_rows[answer], tuned_rows[answer]) for answer in sorted(tuned_rows))
    return {answer: ScorePair(one.score, two.score, one.truth, two.truth) for answer, one, two in found}


def _by_answer(name: str, scores: Sequence[PairedScore]) -> dict[AnswerKey, PairedScore]:
    if not scores:
        raise InputError(f"{name} has no scores; there is nothing to compare")
    rows: dict[AnswerKey, list[int]] = defaultdict(list)
    for number, score in enumerate(scores, start=1):
        rows[AnswerKey(score.task, score.prompt_id, score.seed, score.sample)].append(number)
    repeated = [f"{answer} in {_rows(numbers)}" for answer, numbers in rows.items() if len(numbers) > 1]
    if repeated:
        raise InputError(f"{name} scores an answer more than once: {first_few(repeated)}; keep one row of each")
    return {answer: scores[numbers[0] - 1] for answer, numbers in rows.items()}


def _refuse_alone(name: str, rows: Collection[AnswerKey], other_name: str, other: Collection[AnswerKey]) -> None:
    alone = sorted(set(rows) - set(other))
    if alone:
        tasks = sorted({answer.task for answer in alone} - {answer.task for answer in other})
        of_rows = f"{len(alone)} rows of {name} are not in {other_name}"
        what = f"task {', '.join(tasks)} is in {name} only" if tasks else of_rows
        raise InputError(f"{what}: {first_few(map(str, alone))}; score the same prompts with both models")


def _refuse_missing_seeds(rows: Collection[AnswerKey], seeds: set[int]) -> None:
    seen: dict[tuple[TaskName, str], set[int]] = defaultdict(set)
    for answer in rows:
        seen[answer.task, answer.prompt_id].add(answer.seed)
    missing = [
        f"{task} prompt {_shown(prompt_id)} lacks seeds {_listed(seeds - of_prompt)}"
        for (task, prompt_id), of_prompt in sorted(seen.items())
        if of_prompt != seeds
    ]
    if missing:
        raise InputError(f"not every prompt is scored for every seed: {first_few(missing)}; score them")


def _refuse_other_decoding(files: Mapping[str, Sequence[PairedScore]]) -> None:
    for name, scores in files.items():
        first = scores[0].decoding
        others = [number for number, score in enumerate(scores, start=1) if score.decoding != first]
        if others:
            other = scores[others[0] - 1].decoding
            raise InputError(
                f"{name} is not drawn in one way: decoding is {_said(first)} in row 1 and {_said(other)} or another "
                f"in {_rows(others)}; compare answers of one decoding"
            )
    base, tuned = (scores[0].decoding for scores in files.values())
    if base is not None and tuned is not None and base != tuned:
        raise InputError(
            f"decoding is {_said(base)} in all rows of base and {_said(tuned)} in all rows of tuned; "
            "answer with the same decoding"
        )


def _refuse_truth_of_some(files: Mapping[str, Sequence[PairedScore]]) -> None:
    """Refuse a prompt with ground truth for some answers only: its numbers would describe a selection."""
    known = {(score.task, score.prompt_id) for scores in files.values() for score in scores if score.truth is not None}
    without = {
        name: [n for n, score in enumerate(scores, 1) if score.truth is None and (score.task, score.prompt_id) in known]
        for name, scores in files.items()
    }
    if any(without.values()):
        named = " and ".join(f"{_rows(numbers)} of {name}" for name, numbers in without.items() if numbers)
        raise InputError(f"truth is missing in {named}; give it in all rows of a prompt in both files, or in none")


def _rows(numbers: Sequence[int]) -> str:
    return f"row{'s' if len(numbers) > 1 else ''} {first_few(map(str, numbers)).replace(';', ',')}"


def _listed(seeds: set[int]) -> str:
    return f"[{first_few(map(str, sorted(seeds))).replace(';', ',')}]"


def _said(decoding: str | None) -> str:
    return "not given" if decoding is None else f'"{_shown(decoding)}"'


def _shown(text: str) -> str:
    """Return a file's own words made safe: no terminal commands, limited length."""
    return as_shown(text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "...").replace("\n", " ")


@dataclass(frozen=True)
class Cells:
    """Both models' scores in cells of one prompt and one training seed, averaged over the samples."""

    prompts: tuple[tuple[TaskName, str], ...]
    """The rows: each prompt's task and identity."""
    seeds: tuple[int, ...]
    base: Numbers
    """Mean scores of the base model, shape (prompts, seeds)."""
    tuned: Numbers
    """Mean scores of the tuned model, shape (prompts, seeds)."""
    n_samples: int
    """Samples per cell; if they differ, their harmonic mean, rounded."""

    @property
    def differences(self) -> Numbers:
        """Return tuned minus base, free of rounding errors."""
        return np.round(self.tuned - self.base, 9)

    def of(self, task: TaskName) -> "Cells":
        """Return the rows of one task."""
        rows = [row for row, (name, _) in enumerate(self.prompts) if name == task]
        return Cells(
            tuple(self.prompts[row] for row in rows),
            self.seeds,
            self.base[rows],
            self.tuned[rows],
            self.n_samples,
        )


def arrange(answers: Sequence[AnswerKey], base: Sequence[float], tuned: Sequence[float]) -> Cells:
    """Arrange scores in cells; each prompt has one or more answers of each seed."""
    rows = {prompt: row for row, prompt in enumerate(dict.fromkeys((each.task, each.prompt_id) for each in answers))}
    seeds = tuple(sorted({each.seed for each in answers}))
    columns = {seed: column for column, seed in enumerate(seeds)}
    cells = np.array([rows[each.task, each.prompt_id] * len(seeds) + columns[each.seed] for each in answers])
    counts = np.bincount(cells)

    def means(values: NDArray[np.float64]) -> Numbers:
        return np.bincount(cells, weights=values) / counts

    shape = len(rows), len(seeds)
    return Cells(
        tuple(rows),
        seeds,
        means(np.asarray(base)).reshape(shape),
        means(np.asarray(tuned)).reshape(shape),
        round(len(counts) / float(np.sum(1 / counts))),
    )
