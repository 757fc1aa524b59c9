"""Comparison of base and tuned: from paired scores to the statistics, the verdict and `report.json`."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from schemas.config.evaluate import TRUTH_LOSS
from schemas.documents import PairedScore
from schemas.errors import InputError
from schemas.tasks import TASK_NAMES, TaskName
from tasks.evaluate.claims import TaskClaim
from tasks.evaluate.gate import PromotionGate, decide
from tasks.evaluate.stats.pairing import AnswerKey, Cells, ScorePair, arrange, pair
from tasks.evaluate.stats.statistics import Blocks, PairedStats, correct, measure
from tasks.evaluate.stats.variance import SMALLEST_EFFECT

REPORT_FILE: Final = "report.json"
REPORT_TEXT: Final = "report.md"
BASE: Final = "base"
TUNED: Final = "tuned"
CHAMPION: Final = "champion"
RESAMPLES = 1_000, 1_000_000
"""The fewest with which a p value near .05 and an interval's ends are stable, and the most that memory holds."""


@dataclass(frozen=True)
class PromptScores:
    """Both models' scores on one prompt, averaged over seeds and samples."""

    task: TaskName
    prompt_id: str
    base: float
    tuned: float

    @property
    def difference(self) -> float:
        """Return tuned minus base, free of rounding errors."""
        return round(self.tuned - self.base, 9)


@dataclass(frozen=True)
class Comparison:
    """Result of comparing tuned with base."""

    overall: PairedStats
    """Over all prompts equally. Tasks are not strata here, which makes the interval wider rather than narrower."""
    tasks: Mapping[TaskName, PairedStats]
    """By task, corrected for their number."""
    gate: PromotionGate
    seed_differences: Mapping[int, float]
    """Mean difference over all prompts, by training seed."""
    task_seed_differences: Mapping[TaskName, Mapping[int, float]]
    """Mean difference over the prompts of each task, by training seed."""
    ground_truth: Blocks | None
    """The same statistics of the answers' ground truth, which is no reward; None if unknown."""
    prompts: tuple[PromptScores, ...]
    margin: float
    n_samples: int
    """Answers of each model to each prompt, by each training seed; if they differ, their harmonic mean, rounded."""
    claims: Mapping[TaskName, TaskClaim] = field(default_factory=dict)
    """What is known of the tasks beside these scores; empty for two files of scores."""

    @property
    def scores(self) -> Blocks:
        """Return the blocks of the rewards, in the form of the ground truth's."""
        return Blocks(self.overall, self.tasks)

    def report(self) -> dict[str, Any]:
        """Return the content of `report.json`."""
        truth = self.ground_truth
        return {
            "overall": asdict(self.overall),
            "tasks": {task: asdict(block) for task, block in self.tasks.items()},
            "gate": self.gate.report(),
            "margin": self.margin,
            "n_samples": self.n_samples,
            "seeds": {
                scope: {str(seed): difference for seed, difference in by_seed.items()}
                for scope, by_seed in (("overall", self.seed_differences), *self.task_seed_differences.items())
            },
            "ground_truth": truth
            and {
                "overall": asdict(truth.overall),
                "tasks": {task: asdict(block) for task, block in truth.tasks.items()},
            },
            "claims": {task: asdict(claim) for task, claim in self.claims.items()},
        }


def compare(
    base: Sequence[PairedScore],
    tuned: Sequence[PairedScore],
    *,
    margin: float,
    resamples: int,
    seed: int,
    truth_loss: float = TRUTH_LOSS,
) -> Comparison:
    """Pair the scores and compute the comparison; the same rows give the same numbers.

    `margin` is the non-inferiority margin, in score, `resamples` the bootstrap and permutation resamples, and
    `truth_loss` the share of the base's ground truth on a task that may be lost. InputError where an argument is out of
    its range, or the rows cannot be compared (see `pair`).
    """
    _refuse_settings(margin, resamples, seed)
    pairs = pair(base, tuned)

    def measured(cells: Cells, what: str, margin_of: Callable[[Cells], float]) -> Blocks:
        def block(of_scope: Cells, scope: str) -> PairedStats:
            # A random stream for each block: adding or removing a task leaves the other tasks' numbers unchanged.
            rng = np.random.default_rng([seed, *f"{what}{scope}".encode()])
            return measure(of_scope.base, of_scope.tuned, margin=margin_of(of_scope), resamples=resamples, rng=rng)

        margins = {task: margin_of(cells.of(task)) for task in _tasks(cells)}
        tasks = correct({task: block(cells.of(task), task) for task in margins}, margins)
        return Blocks(block(cells, "overall"), tasks, margins)

    cells = arrange(list(pairs), [each.base for each in pairs.values()], [each.tuned for each in pairs.values()])
    scores = measured(cells, "", lambda _: margin)
    truth = _truth_cells(pairs)
    ground_truth = None
    if truth is not None:
        ground_truth = measured(truth, "truth of ", lambda of: max(SMALLEST_EFFECT, truth_loss * float(of.base.mean())))
    seed_differences = _seed_differences(cells)
    return Comparison(
        overall=scores.overall,
        tasks=scores.tasks,
        gate=decide(scores, seed_differences, margin, ground_truth),
        seed_differences=seed_differences,
        task_seed_differences={task: _seed_differences(cells.of(task)) for task in scores.tasks},
        ground_truth=ground_truth,
        prompts=_prompts(cells),
        margin=margin,
        n_samples=cells.n_samples,
    )


def scores_file(name: str) -> str:
    """Return the file name of one model's paired scores, which `tucano compare` reads."""
    return f"{name}.scores.jsonl"


def write_report(document: Mapping[str, Any], folder: Path) -> Path:
    """Write `report.json` into a folder, which is created if missing, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / REPORT_FILE
    path.write_text(json.dumps(document, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    return path


def _refuse_settings(margin: float, resamples: int, seed: int) -> None:
    if not SMALLEST_EFFECT <= margin < 1:
        raise InputError(f"margin is {margin}; it must lie between {SMALLEST_EFFECT:g} and 1, such as 0.05")
    least, most = RESAMPLES
    if not least <= resamples <= most:
        raise InputError(f"resamples is {resamples}; it must lie between {least} and {most}, such as 10000")
    if seed < 0:
        raise InputError(f"seed is {seed}; it must be 0 or more")


def read_report(folder: Path) -> Any:
    """Read the `report.json` of a folder."""
    return json.loads((folder / REPORT_FILE).read_text(encoding="utf-8"))


def _tasks(cells: Cells) -> list[TaskName]:
    present = {task for task, _ in cells.prompts}
    return [task for task in TASK_NAMES if task in present]


def _truth_cells(pairs: Mapping[AnswerKey, ScorePair]) -> Cells | None:
    known = {
        answer: (each.base_truth, each.tuned_truth)
        for answer, each in pairs.items()
        if each.base_truth is not None and each.tuned_truth is not None
    }
    if not known:
        return None
    return arrange(list(known), [base for base, _ in known.values()], [tuned for _, tuned in known.values()])


def _seed_differences(cells: Cells) -> dict[int, float]:
    means = np.round(cells.differences.mean(axis=0), 9)
    return dict(zip(cells.seeds, means.tolist(), strict=True))


def _prompts(cells: Cells) -> tuple[PromptScores, ...]:
    means = zip(cells.prompts, cells.base.mean(axis=1).tolist(), cells.tuned.mean(axis=1).tolist(), strict=True)
    return tuple(PromptScores(*prompt, base, tuned) for prompt, base, tuned in means)


_FIGURES: Final = ("mean_base", "mean_tuned", "mean_difference", "ci_low", "ci_high", "p_signflip", "p_holm", "p_harm")


def metrics_of_report(report: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of a `report.json` by name, such as `overall.mean_difference` and `push.p_holm`.

    An interval unknown for lack of prompts is left out; so is the ground truth's difference,
    `ground_truth.mean_difference`, without ground truth. Another model's numbers are under its name, such as
    `against.large.mean_difference`, where it takes the place of the base, and so are a rung's, such as
    `over.base-guided.mean_difference`. Of each task the highest score of a baseline is `push.best_baseline`, and the
    variety of its answers `push.variety`. The shares of general instructions that were followed are
    `general.mean_base` and `general.mean_tuned`.
    """
    blocks = {"overall": report["overall"], **report["tasks"]}
    # A version promoted again by hand may have an older report without other models.
    blocks |= {f"against.{name}": other["overall"] for name, other in report.get("others", {}).items()}
    blocks |= {f"over.{name}": rung["overall"] for name, rung in report.get("ladder", {}).items()}
    metrics = {
        f"{scope}.{figure}": float(block[figure])
        for scope, block in blocks.items()
        for figure in _FIGURES
        if block[figure] is not None
    }
    for task, claim in report.get("claims", {}).items():
        scores = [each["scores"]["mean_base"] for each in claim["baselines"].values()]
        metrics |= {f"{task}.best_baseline": max(scores)} if scores else {}
        metrics |= {f"{task}.variety": claim["variety"]} if claim["variety"] is not None else {}
    if general := report.get("general"):
        metrics |= {f"general.{figure}": general["stats"][figure] for figure in ("mean_base", "mean_tuned")}
    truth = report["ground_truth"]
    if truth is not None:
        metrics["ground_truth.mean_difference"] = float(truth["overall"]["mean_difference"])
    return metrics


def compared_figures(report: Mapping[str, Any]) -> dict[str, float]:
    """Return the few numbers by which retrainings are compared, under the names of `metrics_of_report`.

    They are the overall scores, each task's gain and the ground truth's, and `promoted`: 1 where the gate says
    promote, and 0 where it holds.
    """
    names = ["overall.mean_base", "overall.mean_tuned", "overall.mean_difference", "ground_truth.mean_difference"]
    names += [f"{task}.mean_difference" for task in report["tasks"]]
    metrics = metrics_of_report(report)
    figures = {name: metrics[name] for name in names if name in metrics}
    return {**figures, "promoted": float(report["gate"]["verdict"] == "promote")}
