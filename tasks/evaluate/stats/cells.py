"""Paired answers as tables of prompts by training seeds, the input of the statistics."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from schemas.tasks import TaskName
from tasks.evaluate.stats.pairing import AnswerKey
from tasks.evaluate.stats.variance import Numbers


@dataclass(frozen=True)
class Cells:
    """Both models' scores in cells of one prompt and one training seed, averaged over the samples."""

    prompts: tuple[tuple[TaskName, str], ...]
    """The rows: each prompt's task and identity."""
    seeds: tuple[int, ...]
    """The columns: the training seeds in their order."""
    base: Numbers
    """Mean scores of the base model, shape (prompts, seeds)."""
    tuned: Numbers
    """Mean scores of the tuned model, shape (prompts, seeds)."""
    sample_variance: Numbers
    """Variance between the samples of a cell (with n - 1): of the difference if the base was scored for each seed, and
    of the tuned model alone if it was scored once for all; NaN for one sample."""
    base_sample_variance: Numbers
    """The base's own variance if it was scored once for all seeds, else 0; NaN for one sample."""
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
            self.sample_variance[rows],
            self.base_sample_variance[rows],
            self.n_samples,
        )


def arrange(answers: Sequence[AnswerKey], base: Sequence[float], tuned: Sequence[float]) -> Cells:
    """Arrange scores in cells; each prompt has one or more answers of each seed.

    Args:
        answers: Identity of each score, prompt by prompt in row order.
        base: The base model's scores.
        tuned: The tuned model's, answer by answer.
    """
    rows = {prompt: row for row, prompt in enumerate(dict.fromkeys((each.task, each.prompt_id) for each in answers))}
    seeds = tuple(sorted({each.seed for each in answers}))
    columns = {seed: column for column, seed in enumerate(seeds)}
    cells = np.array([rows[each.task, each.prompt_id] * len(seeds) + columns[each.seed] for each in answers])
    counts = np.bincount(cells)

    def means(values: NDArray[np.float64]) -> Numbers:
        return np.bincount(cells, weights=values) / counts

    shape = len(rows), len(seeds)

    def variance(values: NDArray[np.float64]) -> Numbers:
        squares = means((values - means(values)[cells]) ** 2)
        # Samples beyond the first make the variance known: n / (n - 1) of the mean square, and unknown if n is 1.
        return np.where(counts > 1, squares * counts / np.maximum(counts - 1, 1), np.nan).reshape(shape)

    of_base, of_tuned = np.asarray(base), np.asarray(tuned)
    base_means = means(of_base).reshape(shape)
    # The same scores for every seed are those of one base.
    once = bool(np.all(base_means == base_means[:, :1]))
    base_variance = variance(of_base)
    return Cells(
        tuple(rows),
        seeds,
        base_means,
        means(of_tuned).reshape(shape),
        variance(of_tuned if once else np.round(of_tuned - of_base, 9)),
        base_variance if once else base_variance * 0,
        round(len(counts) / float(np.sum(1 / counts))),
    )
