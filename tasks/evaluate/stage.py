"""The evaluate stage: score what every model answered to the test split, compare, decide, and write the report."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from schemas.documents import PairedScore, ScoredRollout
from schemas.evaluate_config import EvaluateConfig
from schemas.progress import Progress, silent
from schemas.store_files import read_store
from schemas.tasks import SpecName, TaskName
from tasks.commerce import registry
from tasks.commerce.sandbox import Databases
from tasks.evaluate.answers_file import read_answers
from tasks.evaluate.background import AnsweredPrompt, Background, LearningCurve, Looks
from tasks.evaluate.compare import Comparison, compare, write_report
from tasks.evaluate.cost import Serving, serving
from tasks.evaluate.figures import write_figures
from tasks.evaluate.gate import hold_against_champion
from tasks.evaluate.ground_truth import metrics_of, truth_of
from tasks.evaluate.judge import JudgeReport
from tasks.evaluate.report import write_page
from tasks.evaluate.report_text import markdown

METRICS_FILE: Final = "ground_truth.json"
TEXT_FILE: Final = "report.md"
BASE: Final = "base"
TUNED: Final = "tuned"
CHAMPION: Final = "champion"
RIVAL: Final = "rival"

Judge = Callable[[Sequence[AnsweredPrompt]], JudgeReport]


@dataclass(frozen=True)
class Answered:
    """The folders of everybody's answers to the test split."""

    base: Path
    """The base's."""
    tuned: Mapping[int, Path]
    """The tuned policies', by the training seeds that made them; all are compared with the base."""
    champion: Path | None = None
    """The champion's, where there is another one than the challenger."""
    rival: Path | None = None
    """A model's at an endpoint."""


@dataclass(frozen=True)
class Known:
    """What the report says beside the scores."""

    chosen_seed: int
    """Seed of the training whose policy may be promoted: it is what the champion and the rival are compared with, and
    its answers and ground truth are shown."""
    trainings: Mapping[int, Mapping[str, Any]]
    """Each training's summary, by seed."""
    identities: Mapping[str, str]
    """Digests of what was compared, by what they identify."""
    decoding: str
    """How every answer was drawn, the same for all."""
    looks: Looks | None = None
    """How often this challenger was held against this test split."""
    champion_name: str = ""
    """Which model the champion is."""


class Scored(NamedTuple):
    """One model's answers with their scores."""

    folder: Path
    rollouts: Sequence[ScoredRollout]
    pairs: Sequence[PairedScore]


def scores_file(name: str) -> str:
    """Name the file of one model's paired scores, which `tucano compare` reads."""
    return f"{name}.scores.jsonl"


def run(
    config: EvaluateConfig,
    spec: SpecName,
    seed: int,
    *,
    store: Path,
    answered: Answered,
    known: Known,
    output: Path,
    judge: Judge | None = None,
    progress: Progress = silent,
) -> Comparison:
    """Score and compare the answers, and write scores, metrics, reports and figures.

    Args:
        config: Margin, resamples and prices.
        spec: Which reward the answers are scored by.
        seed: Seed of the resampling; whom no training made is scored under it.
        store: Folder of the store that generated SQL is executed on.
        answered: Everybody's answers.
        known: What the report says beside the scores.
        output: Gets everything.
        judge: Judges the answers to insights; nobody does where it is None.
        progress: Told the models scored and in all.
    """
    databases = Databases.from_store(read_store(store))
    others = {name: folder for name in (CHAMPION, RIVAL) if (folder := getattr(answered, name)) is not None}
    total = 1 + len(answered.tuned) + len(others)

    def score(folder: Path, as_seed: int, done: int) -> Scored:
        progress(done, total, "models scored")
        rollouts = [registry.score_rollout(rollout, databases, spec) for rollout in read_answers(folder)]
        return Scored(folder, rollouts, [_as_pair(each, as_seed, databases, known.decoding) for each in rollouts])

    base = score(answered.base, seed, 0)
    tuned = {each: score(folder, each, 1 + done) for done, (each, folder) in enumerate(answered.tuned.items())}
    other = {name: score(folder, seed, 1 + len(tuned) + done) for done, (name, folder) in enumerate(others.items())}
    progress(total, total, "models scored")
    chosen = tuned[known.chosen_seed]

    def against(name: str, rows: Sequence[PairedScore], challenger: Sequence[PairedScore]) -> Comparison:
        _write_lines(output / scores_file(name), rows)
        return compare(rows, challenger, margin=config.margin, resamples=config.resamples, seed=seed)

    all_tuned = [pair for each in tuned.values() for pair in each.pairs]
    _write_lines(output / scores_file(TUNED), all_tuned)
    comparison = against(BASE, base.pairs, all_tuned)
    compared = {name: against(name, each.pairs, chosen.pairs) for name, each in other.items()}
    champion = compared.get(CHAMPION)
    if champion is not None:
        gate = hold_against_champion(comparison.gate, champion.overall, champion.tasks, config.margin)
        comparison = replace(comparison, gate=gate)
    shown = {BASE: base, TUNED: chosen, **other}
    answers = _side_by_side(base.rollouts, chosen.rollouts)
    background = Background(
        answers=answers,
        learning_curves={each: _learning_curve(training) for each, training in known.trainings.items()},
        chosen_seed=known.chosen_seed,
        ground_truth=_by_metric({name: metrics_of(each.rollouts, databases) for name, each in shown.items()}),
        identities={**known.identities, "rewards": f"{spec} {registry.reward_version()}"},
        champion=champion,
        champion_name=known.champion_name,
        rivals={config.rival.model: compared[RIVAL]} if config.rival and RIVAL in compared else {},
        serving=[_serving(config, name, each.folder) for name, each in shown.items()],
        judge=judge(answers) if judge else None,
        looks=known.looks,
    )
    _write(comparison, background, output)
    return comparison


def _as_pair(rollout: ScoredRollout, seed: int, databases: Databases, decoding: str) -> PairedScore:
    return PairedScore(
        prompt_id=rollout.prompt_id,
        task=rollout.task,
        seed=seed,
        sample=(rollout.model_extra or {})["sample"],
        score=rollout.reward,
        truth=truth_of(rollout, databases),
        decoding=decoding,
    )


def _write_lines(file: Path, scores: Sequence[PairedScore]) -> None:
    from schemas.rollout_tables import PairedScores
    from schemas.table_check import as_table, validate_table

    validate_table(as_table(scores, PairedScores), PairedScores, f"paired scores {file.name}")
    file.write_text("".join(score.model_dump_json() + "\n" for score in scores), encoding="utf-8")


def _side_by_side(base: Sequence[ScoredRollout], tuned: Sequence[ScoredRollout]) -> list[AnsweredPrompt]:
    """Return each prompt's first answers."""
    first = {(after.task, after.prompt_id): after.completion for after in reversed(tuned)}
    return [
        AnsweredPrompt(before.task, before.prompt_id, before.prompt, before.completion, first[key])
        for key, before in {(each.task, each.prompt_id): each for each in reversed(base)}.items()
    ][::-1]


def _learning_curve(training: Mapping[str, Any]) -> LearningCurve:
    points = tuple((entry["step"], entry["mean_reward"]) for entry in training["validation"])
    return LearningCurve(points, training["chosen_step"])


def _by_metric(
    metrics: Mapping[str, Mapping[TaskName, Mapping[str, float]]],
) -> dict[TaskName, dict[str, dict[str, float]]]:
    """Turn metrics by model into metrics by task and name, each with every model's value."""
    turned: dict[TaskName, dict[str, dict[str, float]]] = {}
    for model, by_task in metrics.items():
        for task, values in by_task.items():
            for name, value in values.items():
                turned.setdefault(task, {}).setdefault(name, {})[model] = value
    return turned


def _serving(config: EvaluateConfig, name: str, folder: Path) -> Serving:
    rival = config.rival if name == RIVAL else None
    return serving(rival.model if rival else name, folder, config.cost, rival)


def _write(comparison: Comparison, background: Background, output: Path) -> None:
    (output / METRICS_FILE).write_text(json.dumps(background.ground_truth, indent=1), encoding="utf-8")
    beside: dict[str, Any] = {
        "serving": [asdict(each) for each in background.serving],
        "looks": asdict(background.looks) if background.looks else None,
        "judge": asdict(background.judge) if background.judge else None,
        "identities": dict(background.identities),
        "champion": background.champion.report() if background.champion else None,
        "rivals": {name: rival.report() for name, rival in background.rivals.items()},
    }
    write_report({**comparison.report(), **beside}, output)
    (output / TEXT_FILE).write_text(markdown(comparison, background), encoding="utf-8")
    write_figures(comparison, background, output)
    write_page(comparison, background, output)
