"""Evaluate stage: score every model's answers to the test split, compare, decide, and write the report."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from schemas.config.evaluate import DRAWS_OF, RUNGS, EvaluateConfig, OverRungs, RivalConfig, Rung
from schemas.config.workers import MachinePrice
from schemas.documents import PairedScore, Rollout, ScoredRollout
from schemas.progress import Progress, silent
from schemas.tables.prompts import PromptRow
from schemas.tasks import SpecName, TaskName
from tasks.commerce import registry
from tasks.commerce.sql_qa.open_databases import open_databases
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.evaluate.answers.answered_prompt import AnsweredPrompt
from tasks.evaluate.answers.baselines import baselines
from tasks.evaluate.answers.cost import serving
from tasks.evaluate.answers.draws import choose
from tasks.evaluate.answers.files import GENERAL_FOLDER, read_answers
from tasks.evaluate.compare import BASE, CHAMPION, TUNED, Comparison, compare, scores_file, write_report
from tasks.evaluate.completions.page import write_page as write_completions
from tasks.evaluate.completions.rows import LoggedTraining, Scrub, ShownAnswers, as_document
from tasks.evaluate.decision import Examined, decide_on, matched, without_decoding
from tasks.evaluate.evidence import Evaluated, ScoredBaseline, claims_of
from tasks.evaluate.forgetting import GeneralOutcome, measure_general
from tasks.evaluate.gain import shares_of_gain
from tasks.evaluate.ground_truth import metrics_apart, metrics_of, truth_of
from tasks.evaluate.judge.insights import JudgeReport
from tasks.evaluate.ladder import RungStanding, best_rung
from tasks.evaluate.report.background import Background, OtherModel, reward_identity, unknown_to_engine
from tasks.evaluate.report.figures import draw
from tasks.evaluate.report.page import write_page
from tasks.evaluate.report.side_by_side import SideBySide, side_by_side
from tasks.evaluate.report.text import REPORT_TEXT, markdown
from tasks.evaluate.untold import untold_prompts, with_reference
from tasks.report.canvas import write_figures
from tasks.report.wording import worded

METRICS_FILE: Final = "ground_truth.json"
TUNED_NF4: Final = "tuned-nf4"
PUBLISHED: Final = "published"

Judge = Callable[[Sequence[AnsweredPrompt]], JudgeReport | None]


class ShownModel(NamedTuple):
    """A model compared for orientation only, without effect on the gate."""

    name: str
    """Its name in the report."""
    answers: Path
    """Folder of its answers."""
    description: str
    """Its kind, as shown in the report; of an endpoint's model the report makes it."""
    rival: RivalConfig | None = None
    """The endpoint that answered; None for our own machine."""


class _Scorer:
    """Scores of answers; a draw is scored once, for several rungs choose among the same ones."""

    def __init__(self, databases: Databases, spec: SpecName) -> None:
        self._databases = databases
        self._spec = spec
        self._drawn: dict[tuple[str, str], ScoredRollout] = {}

    def score(self, rollout: Rollout) -> ScoredRollout:
        known = self._drawn.get((rollout.prompt_id, rollout.completion))
        if known is None:
            return registry.score_rollout(rollout, self._databases, self._spec)
        return known.model_copy(update=rollout.model_extra or {})

    def reward(self, rollout: Rollout) -> float:
        return self.score(rollout).reward

    def reward_of_draw(self, draw: Rollout) -> float:
        scored = self._drawn[draw.prompt_id, draw.completion] = self.score(draw)
        return scored.reward


def run(
    config: EvaluateConfig,
    spec: SpecName,
    seed: int,
    *,
    store: Path,
    training: Sequence[PromptRow],
    base: Path,
    tuned: Mapping[int, Path],
    champion: Path | None,
    others: Sequence[ShownModel],
    rungs: Mapping[Rung, Path],
    over_rungs: OverRungs,
    chosen_seed: int,
    known: Background,
    prices: Mapping[str, MachinePrice],
    trainings: Sequence[LoggedTraining],
    scrub: Scrub,
    output: Path,
    judge: Judge | None = None,
    progress: Progress = silent,
) -> Comparison:
    """Score and compare the answers to the test split, and write scores, metrics, reports and figures.

    Args:
        config: Margin, resamples and the API's price.
        spec: The reward specification that scores the answers.
        seed: Seed of the resampling; models that were not trained here are scored under it.
        store: Folder of the store on which generated SQL is executed.
        training: The training split, which chooses the baselines and decides what is unseen.
        base: Folder of the base's answers.
        tuned: Folders of the tuned policies' answers, by training seed; all are compared with the base.
        champion: Folder of the champion's; None without a champion.
        others: Further models, without effect on the gate.
        rungs: Folders of the answers of what costs less; of a rung that chooses among several draws, of these.
        over_rungs: Whether a gain that a rung has too holds the model.
        chosen_seed: Seed of the training whose policy may be promoted: the others are compared with it alone, and its
            answers and ground truth are shown.
        known: The report's context, as far as known before the scores.
        prices: Prices of the machines that answered, by device.
        trainings: The trainings of the tuned policies, whose rollouts are shown.
        scrub: Removes personal data from what is shown of completions.
        output: Receives all files.
        judge: Judges the answers to insights; None for no judge.
        progress: Called with the models scored and the total.
    """
    databases = open_databases(store)
    folders = {BASE: base, TUNED: tuned[chosen_seed]} | ({} if champion is None else {CHAMPION: champion})
    folders |= {other.name: other.answers for other in others}
    total = len(folders) + len(tuned) - 1 + len(rungs)
    done = 0
    scorer = _Scorer(databases, spec)

    def evaluated(rollouts: Sequence[Rollout], as_seed: int) -> Evaluated:
        found = registry.score_beside([scorer.score(rollout) for rollout in rollouts], spec)
        apart = metrics_apart(found, training, databases)
        metrics = {task: values | apart.get(task, {}) for task, values in metrics_of(found, databases).items()}
        return Evaluated(found, [_as_pair(each, as_seed, databases) for each in found], metrics)

    def read(folder: Path, as_seed: int, rung: Rung | None = None) -> Evaluated:
        nonlocal done
        rollouts: Sequence[Rollout] = with_reference(read_answers(folder))
        if rung is not None and DRAWS_OF[rung] > 1:
            rollouts = choose(rung, rollouts, scorer.reward_of_draw, databases)
        found = evaluated(rollouts, as_seed)
        done += 1
        progress(done, total, "models scored")
        return found

    def against(before: Sequence[PairedScore], challenger: Sequence[PairedScore]) -> Comparison:
        return compare(
            before,
            challenger,
            margin=config.margin,
            resamples=config.resamples,
            seed=seed,
            truth_loss=config.truth_loss,
        )

    progress(0, total, "models scored")
    by_seed = {each: read(folder, each) for each, folder in tuned.items()}
    chosen, all_tuned = by_seed[chosen_seed], [pair for each in by_seed.values() for pair in each.pairs]
    shown = {name: chosen if name == TUNED else read(folder, seed) for name, folder in folders.items()}
    chosen_baselines = baselines(training, shown[BASE].rollouts, scorer.reward, seed, progress)
    without_model = {each.name: evaluated(each.rollouts, seed) for each in chosen_baselines}
    of_rungs = {name: read(folder, seed, name) for name, folder in rungs.items()}
    everything = shown | without_model | of_rungs
    for name, each in everything.items():
        _write_scores(output / scores_file(name), all_tuned if name == TUNED else each.pairs)

    base_pairs = shown[BASE].pairs
    examined = Examined(
        claims=claims_of(
            config,
            shown[BASE],
            chosen,
            all_tuned,
            [ScoredBaseline(each.name, each.says, without_model[each.name].pairs) for each in chosen_baselines],
            against,
        ),
        chosen_seed=chosen_seed,
        alone=matched(base_pairs, chosen.pairs, against) if len(tuned) > 1 else None,
        champion=matched(shown[CHAMPION].pairs, chosen.pairs, against) if champion is not None else None,
        ladder=[
            RungStanding(
                name,
                RUNGS[name],
                DRAWS_OF[name],
                matched(without_decoding(each.pairs), without_decoding(all_tuned), against),
            )
            for name, each in of_rungs.items()
        ],
        over_rungs=over_rungs,
        general=_general(config, base, tuned[chosen_seed], seed),
        untold=untold_prompts(read_answers(base)),
    )
    comparison = decide_on(matched(base_pairs, all_tuned, against), examined, config.margin, against)
    rivals = {other.name: other.rival for other in others if other.rival is not None}
    background = replace(
        known,
        chosen_seed=chosen_seed,
        answers=_side_by_side(comparison, examined.ladder, everything, seed),
        ground_truth=_by_metric({name: each.metrics for name, each in everything.items()}),
        known_answers=Counter(pair.task for pair in chosen.pairs if pair.truth is not None),
        identities={
            **known.identities,
            "rewards": f"{spec} {registry.joint_version(spec)}",
            **{
                reward_identity(task): version
                for task, version in registry.reward_versions(comparison.tasks, spec).items()
            },
        },
        champion=examined.champion.found if examined.champion else None,
        others=[
            OtherModel(
                other.name,
                _description(other, shown[other.name]),
                against(_comparable(other, shown[other.name].pairs), chosen.pairs),
            )
            for other in others
        ],
        ladder=examined.ladder,
        gains=shares_of_gain(comparison, examined.ladder, resamples=config.resamples, seed=seed),
        general=examined.general,
        serving=[
            *(serving(name, folder, config.cost, rivals.get(name), prices=prices) for name, folder in folders.items()),
            *(
                serving(name, folder, config.cost, prices=prices, draws=DRAWS_OF[name])
                for name, folder in rungs.items()
            ),
        ],
        judge=judge(_both_answers(shown[BASE].rollouts, chosen.rollouts)) if judge else None,
    )
    _write(comparison, background, examined, output)
    _write_completions(trainings, training, everything, scrub, output)
    return comparison


def _write_completions(
    trainings: Sequence[LoggedTraining],
    training: Sequence[PromptRow],
    models: Mapping[str, Evaluated],
    scrub: Scrub,
    output: Path,
) -> None:
    answers = {name: ShownAnswers(each.rollouts, [pair.truth for pair in each.pairs]) for name, each in models.items()}
    write_completions(as_document(trainings, training, answers, scrub), output)


def _general(config: EvaluateConfig, base: Path, tuned: Path, seed: int) -> GeneralOutcome | None:
    if config.general == "off":
        return None
    before, after = (read_answers(folder / GENERAL_FOLDER) for folder in (base, tuned))
    return measure_general(config, before, after, seed)


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


def _comparable(other: ShownModel, pairs: Sequence[PairedScore]) -> Sequence[PairedScore]:
    """Return a rival's scores without their decoding, which may differ: it has its own tokens and budget."""
    return pairs if other.rival is None else without_decoding(pairs)


def _description(other: ShownModel, scored: Evaluated) -> str:
    if other.rival is None:
        return worded(other.description)
    model, decoding = other.rival.model, scored.pairs[0].decoding
    if not other.rival.body:
        return worded("{model} at an endpoint ({decoding})", model=model, decoding=decoding)
    body = json.dumps(other.rival.body, ensure_ascii=False, sort_keys=True)
    sentence = "{model} at an endpoint ({decoding}, with {body} in each request)"
    return worded(sentence, model=model, decoding=decoding, body=body)


def _write_scores(file: Path, scores: Sequence[PairedScore]) -> None:
    from schemas.tables.rollout_tables import PairedScores
    from schemas.tables.table_check import as_table, validate_table

    validate_table(as_table(scores, PairedScores), PairedScores, f"paired scores {file.name}")
    file.write_text("".join(score.model_dump_json() + "\n" for score in scores), encoding="utf-8")


def _side_by_side(
    comparison: Comparison, ladder: Sequence[RungStanding], models: Mapping[str, Evaluated], seed: int
) -> tuple[SideBySide, ...]:
    best = best_rung(ladder)
    shown = (BASE, *([best.name] if best else []), TUNED)
    return side_by_side(comparison.prompts, {name: models[name].rollouts for name in shown}, seed)


def _both_answers(base: Sequence[Rollout], tuned: Sequence[Rollout]) -> list[AnsweredPrompt]:
    """Return each prompt's first answers."""
    first = {(after.task, after.prompt_id): after.completion for after in reversed(tuned)}
    return [
        AnsweredPrompt(before.task, before.prompt_id, before.prompt, before.completion, first[key])
        for key, before in {(each.task, each.prompt_id): each for each in reversed(base)}.items()
    ][::-1]


def _by_metric(
    metrics: Mapping[str, Mapping[TaskName, Mapping[str, float]]],
) -> dict[TaskName, dict[str, dict[str, float]]]:
    """Regroup metrics by model into metrics by task and name, each with every model's value."""
    turned: dict[TaskName, dict[str, dict[str, float]]] = {}
    for model, by_task in metrics.items():
        for task, values in by_task.items():
            for name, value in values.items():
                turned.setdefault(task, {}).setdefault(name, {})[model] = value
    return turned


def _write(comparison: Comparison, background: Background, examined: Examined, output: Path) -> None:
    (output / METRICS_FILE).write_text(json.dumps(background.ground_truth, indent=1), encoding="utf-8")
    beside: dict[str, Any] = {
        "serving": [asdict(each) for each in background.serving],
        "looks": asdict(background.looks) if background.looks else None,
        "judge": asdict(background.judge) if background.judge else None,
        "general": background.general.report() if background.general else None,
        "identities": dict(background.identities),
        "champion": background.champion.report() if background.champion else None,
        "gain": {scope: asdict(found) for scope, found in background.gains.items()},
        "ladder": {
            rung.name: {"description": rung.what, "draws": rung.draws, **rung.match.found.report()}
            for rung in background.ladder
        },
        "chosen_seed": examined.chosen_seed,
        "untold": dict(examined.untold),
        "left_out": dict(background.left_out),
        "known_to_base": dict(background.known_to_base),
        "unknown_to_engine": unknown_to_engine(background),
        "others": {
            other.name: {"description": other.description, **other.comparison.report()} for other in background.others
        },
    }
    write_report({**comparison.report(), **beside}, output)
    (output / REPORT_TEXT).write_text(markdown(comparison, background), encoding="utf-8")
    drawn = draw(comparison, background)
    write_figures(drawn, output)
    write_page(comparison, background, output, drawn)
