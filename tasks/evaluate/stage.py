"""The evaluate stage: score what every model answered to the test split, compare, decide, and write the report."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
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
from tasks.evaluate.background import AnsweredPrompt, Background
from tasks.evaluate.compare import Comparison, compare, write_report
from tasks.evaluate.cost import serving
from tasks.evaluate.figures import draw, write_figures
from tasks.evaluate.gate import hold_where_worse
from tasks.evaluate.ground_truth import metrics_of, truth_of
from tasks.evaluate.judge import JudgeReport
from tasks.evaluate.report import write_page
from tasks.evaluate.report_text import REPORT_TEXT, markdown

METRICS_FILE: Final = "ground_truth.json"
BASE: Final = "base"
TUNED: Final = "tuned"
CHAMPION: Final = "champion"
RIVAL: Final = "rival"
AGAINST_CHAMPION: Final = "against the champion"

Judge = Callable[[Sequence[AnsweredPrompt]], JudgeReport | None]


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
    base: Path,
    tuned: Mapping[int, Path],
    others: Mapping[str, Path],
    chosen_seed: int,
    known: Background,
    output: Path,
    judge: Judge | None = None,
    progress: Progress = silent,
) -> Comparison:
    """Score and compare the answers to the test split, and write scores, metrics, reports and figures.

    Args:
        config: Margin, resamples and prices.
        spec: Which reward the answers are scored by.
        seed: Seed of the resampling; whom no training made is scored under it.
        store: Folder of the store that generated SQL is executed on.
        base: Folder of the base's answers.
        tuned: Folders of the tuned policies', by the training seeds that made them; all are compared with the base.
        others: Folders of the `champion`'s and of the `rival`'s, where there are any.
        chosen_seed: Seed of the training whose policy may be promoted: the others are compared with it alone, and its
            answers and ground truth are shown.
        known: What the report says beside the scores, as far as it is known before them.
        output: Gets everything.
        judge: Judges the answers to insights; nobody does where it is None.
        progress: Told the models scored and in all.
    """
    databases = Databases.from_store(read_store(store))
    total = 1 + len(tuned) + len(others)
    done = 0

    def score(folder: Path, as_seed: int) -> Scored:
        nonlocal done
        rollouts = [registry.score_rollout(rollout, databases, spec) for rollout in read_answers(folder)]
        scored = Scored(folder, rollouts, [_as_pair(each, as_seed, databases) for each in rollouts])
        done += 1
        progress(done, total, "models scored")
        return scored

    progress(0, total, "models scored")
    by_seed = {each: score(folder, each) for each, folder in tuned.items()}
    chosen = by_seed[chosen_seed]
    shown = {BASE: score(base, seed), TUNED: chosen, **{name: score(folder, seed) for name, folder in others.items()}}
    all_tuned = [pair for each in by_seed.values() for pair in each.pairs]
    for name, each in shown.items():
        _write_scores(output / scores_file(name), all_tuned if name == TUNED else each.pairs)

    def against(name: str, challenger: Sequence[PairedScore]) -> Comparison:
        return compare(shown[name].pairs, challenger, margin=config.margin, resamples=config.resamples, seed=seed)

    comparison = against(BASE, all_tuned)
    champion = against(CHAMPION, chosen.pairs) if CHAMPION in others else None
    alone = against(BASE, chosen.pairs) if len(tuned) > 1 else None
    gate = comparison.gate
    for name, other in ((f"with seed {chosen_seed} alone (it would be promoted)", alone), (AGAINST_CHAMPION, champion)):
        if other is not None:
            gate = hold_where_worse(gate, name, other.scores, other.ground_truth, config.margin)
    comparison = replace(comparison, gate=gate)
    answers = _side_by_side(shown[BASE].rollouts, chosen.rollouts)
    called = {RIVAL: config.rival.model} if config.rival else {}
    metrics = {called.get(name, name): metrics_of(each.rollouts, databases) for name, each in shown.items()}
    background = replace(
        known,
        chosen_seed=chosen_seed,
        answers=answers,
        ground_truth=_by_metric(metrics),
        identities={**known.identities, "rewards": f"{spec} {registry.reward_version()}"},
        champion=champion,
        rival=against(RIVAL, chosen.pairs) if RIVAL in others else None,
        rival_name=called.get(RIVAL, ""),
        serving=[
            serving(called.get(name, name), each.folder, config.cost, config.rival if name == RIVAL else None)
            for name, each in shown.items()
        ],
        judge=judge(answers) if judge else None,
    )
    _write(comparison, background, output)
    return comparison


def _as_pair(rollout: ScoredRollout, seed: int, databases: Databases) -> PairedScore:
    drawn = rollout.model_extra or {}
    return PairedScore(
        prompt_id=rollout.prompt_id,
        task=rollout.task,
        seed=seed,
        sample=drawn["sample"],
        score=rollout.reward,
        truth=truth_of(rollout, databases),
        decoding=drawn["decoding"],
    )


def _write_scores(file: Path, scores: Sequence[PairedScore]) -> None:
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


def _write(comparison: Comparison, background: Background, output: Path) -> None:
    (output / METRICS_FILE).write_text(json.dumps(background.ground_truth, indent=1), encoding="utf-8")
    beside: dict[str, Any] = {
        "serving": [asdict(each) for each in background.serving],
        "looks": asdict(background.looks) if background.looks else None,
        "judge": asdict(background.judge) if background.judge else None,
        "identities": dict(background.identities),
        "champion": background.champion.report() if background.champion else None,
        "rival": background.rival.report() if background.rival else None,
    }
    write_report({**comparison.report(), **beside}, output)
    (output / REPORT_TEXT).write_text(markdown(comparison, background), encoding="utf-8")
    drawn = draw(comparison, background)
    write_figures(drawn, output)
    write_page(comparison, background, output, drawn)
