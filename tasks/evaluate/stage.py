"""Evaluate stage: score every model's answers to the test split, compare, decide, and write the report."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any, Final, NamedTuple

from schemas.config.evaluate import EvaluateConfig, OverRungs, RivalConfig, Rung
from schemas.config.workers import MachinePrice
from schemas.documents import PairedScore, Rollout, ScoredRollout
from schemas.progress import Progress, silent
from schemas.tables.prompts import PromptRow
from schemas.tasks import SpecName, TaskName
from tasks.bag_of_words.bag import write_bags
from tasks.bag_of_words.repair import repaired
from tasks.commerce import registry
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.evaluate.answers.baselines import baselines
from tasks.evaluate.answers.cost import serving
from tasks.evaluate.answers.files import GENERAL_FOLDER, read_answers
from tasks.evaluate.compare import BASE, CHAMPION, TUNED, Comparison, compare, scores_file, write_report
from tasks.evaluate.completions.page import write_page as write_completions
from tasks.evaluate.completions.rows import LoggedTraining, Scrub, ShownAnswers, as_document
from tasks.evaluate.decision import Evaluated, Evidence, claims_of, missing_references, with_reference, without
from tasks.evaluate.ground_truth import metrics_apart, metrics_of, truth_of
from tasks.evaluate.report.background import Background, OtherModel, reward_identity, side_by_side
from tasks.evaluate.report.page import draw, write_report_files
from tasks.evaluate.retention import GeneralOutcome, measure_general
from tasks.evaluate.stats.statistics import PairedStats
from tasks.next_steps.steps import Trained, next_steps
from tasks.report.canvas import write_figures
from tasks.report.wording import worded

METRICS_FILE: Final = "ground_truth.json"


class ShownModel(NamedTuple):
    """A model compared for orientation only, without effect on the gate."""

    name: str
    answers: Path
    description: str
    """Its kind, as shown in the report; of an endpoint's model the report makes it."""
    rival: RivalConfig | None = None
    """The endpoint that answered; None for our own machine."""


@dataclass(frozen=True)
class Evaluation:
    """Everything that an evaluation reads, and where it writes."""

    config: EvaluateConfig
    spec: SpecName
    seed: int
    """Seed of the resampling; models that were not trained here are scored under it."""
    store: Path
    training: Sequence[PromptRow]
    """The training split, which chooses the baselines and decides what is unseen."""
    base: Path
    tuned: Mapping[int, Path]
    """Folders of the tuned policies' answers, by training seed; all are compared with the base."""
    chosen_seed: int
    """Seed of the training whose policy may be promoted: the others are compared with it alone, and its answers and
    ground truth are shown."""
    known: Background
    scrub: Scrub
    output: Path
    champion: Path | None = None
    others: Sequence[ShownModel] = ()
    rungs: Mapping[Rung, Path] = field(default_factory=dict)
    """Folders of the answers of what costs less."""
    over_rungs: OverRungs = "report"
    """Whether a gain that a rung has too holds the model."""
    prices: Mapping[str, MachinePrice] = field(default_factory=dict)
    """Prices of the machines that answered, by device."""
    trainings: Sequence[LoggedTraining] = ()
    trained: Trained | None = None
    """Training of the policy that may be promoted; None where only its answers are known."""

    def compare(self, before: Sequence[PairedScore], challenger: Sequence[PairedScore]) -> Comparison:
        """Compare the second scores with the first by the evaluation's settings."""
        margin, resamples, truth_loss = self.config.margin, self.config.resamples, self.config.truth_loss
        return compare(before, challenger, margin=margin, resamples=resamples, seed=self.seed, truth_loss=truth_loss)


def run(evaluation: Evaluation, progress: Progress = silent) -> Comparison:
    """Score and compare the answers to the test split, and write scores, metrics, reports and figures."""
    config, spec, seed, chosen_seed = evaluation.config, evaluation.spec, evaluation.seed, evaluation.chosen_seed
    databases = Databases.open(evaluation.store)
    folders = {BASE: evaluation.base, TUNED: evaluation.tuned[chosen_seed]}
    folders |= {CHAMPION: evaluation.champion} if evaluation.champion else {}
    folders |= {other.name: other.answers for other in evaluation.others}
    total = len(folders) + len(evaluation.tuned) - 1 + len(evaluation.rungs)
    done = 0

    def score(rollout: Rollout) -> ScoredRollout:
        return registry.score_rollout(rollout, databases, spec)

    def evaluated(rollouts: Sequence[Rollout], as_seed: int) -> Evaluated:
        found = registry.score_beside([score(rollout) for rollout in rollouts], spec)
        apart = metrics_apart(found, evaluation.training, databases)
        metrics = {task: values | apart.get(task, {}) for task, values in metrics_of(found, databases).items()}
        pairs = [_as_pair(each, as_seed, databases) for each in found]
        lenient = [
            pair if new is old else pair.model_copy(update={"truth": truth_of(new, databases)})
            for pair, old, new in zip(pairs, found, repaired(found), strict=True)
        ]
        for task in _repaired_tasks(pairs, lenient):
            known = [pair.truth for pair in lenient if pair.task == task and pair.truth is not None]
            metrics[task][f"{registry.TASKS[task].answer_metrics[-1]}_repaired"] = fmean(known)
        return Evaluated(found, pairs, metrics, lenient)

    def read(folder: Path, as_seed: int) -> Evaluated:
        nonlocal done
        found = evaluated(with_reference(read_answers(folder)), as_seed)
        done += 1
        progress(done, total, "models scored")
        return found

    progress(0, total, "models scored")
    by_seed = {each: read(folder, each) for each, folder in evaluation.tuned.items()}
    chosen, all_tuned = by_seed[chosen_seed], [pair for each in by_seed.values() for pair in each.pairs]
    shown = {name: chosen if name == TUNED else read(folder, seed) for name, folder in folders.items()}
    base = shown[BASE]
    constants = baselines(evaluation.training, base.rollouts, lambda each: score(each).reward, seed, progress)
    write_bags({task: bag for each in constants for task, bag in each.bags.items()}, evaluation.output)
    without_model = {each.name: evaluated(each.rollouts, seed) for each in constants}
    of_rungs = {name: read(folder, seed) for name, folder in evaluation.rungs.items()}
    everything = shown | without_model | of_rungs
    right = _repaired(evaluation, base, [*by_seed.values()])
    evidence = Evidence(
        claims={
            task: replace(claim, repaired=right.get(task)) for task, claim in claims_of(config, base, chosen).items()
        },
        chosen_seed=chosen_seed,
        baselines={each.name: each.says for each in constants},
        rungs=list(of_rungs),
        over_rungs=evaluation.over_rungs,
        general=_general(evaluation),
        missing_references=missing_references(read_answers(evaluation.base)),
    )
    scores = {name: each.pairs for name, each in everything.items()} | {TUNED: all_tuned}
    for name, pairs in scores.items():
        lines = "".join(pair.model_dump_json() + "\n" for pair in pairs)
        (evaluation.output / scores_file(name)).write_text(lines, encoding="utf-8")
    decision = evidence.decide(scores, config.margin, evaluation.compare)
    comparison = decision.comparison
    rivals = {other.name: other.rival for other in evaluation.others if other.rival is not None}
    versions = registry.reward_versions(comparison.tasks, spec)
    best = max(decision.ladder, key=lambda rung: rung.found.overall.mean_base, default=None)
    answered = {name: everything[name].rollouts for name in (BASE, *([best.name] if best else []), TUNED)}
    background = replace(
        evaluation.known,
        chosen_seed=chosen_seed,
        answers=side_by_side(comparison.prompts, answered, seed),
        ground_truth=_by_metric({name: each.metrics for name, each in everything.items()}),
        known_answers=Counter(pair.task for pair in chosen.pairs if pair.truth is not None),
        identities={
            **evaluation.known.identities,
            "rewards": f"{spec} {registry.joint_version(spec)}",
            **{reward_identity(task): version for task, version in versions.items()},
        },
        champion=decision.champion,
        others=[_as_other(evaluation, other, shown[other.name], chosen) for other in evaluation.others],
        ladder=decision.ladder,
        general=evidence.general,
        serving=[
            serving(name, folder, config.cost, rivals.get(name), prices=evaluation.prices)
            for name, folder in (*folders.items(), *evaluation.rungs.items())
        ],
    )
    _write(comparison, background, evidence, evaluation)
    answers = {
        name: ShownAnswers(each.rollouts, [pair.truth for pair in each.pairs]) for name, each in everything.items()
    }
    document = as_document(evaluation.trainings, evaluation.training, answers, evaluation.scrub)
    write_completions(document, evaluation.output)
    return comparison


def _repaired(evaluation: Evaluation, base: Evaluated, tuned: Sequence[Evaluated]) -> Mapping[TaskName, PairedStats]:
    """Compare the right answers with broken JSON repaired, of the tasks in which that makes some right."""
    tasks = {task for each in (base, *tuned) for task in _repaired_tasks(each.pairs, each.repaired)}
    first, second = (
        [
            pair.model_copy(update={"score": pair.truth, "truth": None})
            for each in models
            for pair in each.repaired
            if pair.task in tasks and pair.truth is not None
        ]
        for models in ([base], tuned)
    )
    return evaluation.compare(first, second).tasks if tasks else {}


def _repaired_tasks(strict: Sequence[PairedScore], lenient: Sequence[PairedScore]) -> set[TaskName]:
    return {new.task for old, new in zip(strict, lenient, strict=True) if new.truth != old.truth}


def _general(evaluation: Evaluation) -> GeneralOutcome | None:
    if evaluation.config.general == "off":
        return None
    folders = (evaluation.base, evaluation.tuned[evaluation.chosen_seed])
    before, after = (read_answers(folder / GENERAL_FOLDER) for folder in folders)
    return measure_general(evaluation.config, before, after, evaluation.seed)


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


def _as_other(evaluation: Evaluation, other: ShownModel, scored: Evaluated, chosen: Evaluated) -> OtherModel:
    """Compare the challenger with a model that decides nothing; a rival has tokens and a budget of its own."""
    if other.rival is None:
        return OtherModel(other.name, worded(other.description), evaluation.compare(scored.pairs, chosen.pairs))
    model, decoding = other.rival.model, scored.pairs[0].decoding
    description = worded("{model} at an endpoint ({decoding})", model=model, decoding=decoding)
    if other.rival.body:
        body = json.dumps(other.rival.body, ensure_ascii=False, sort_keys=True)
        sentence = "{model} at an endpoint ({decoding}, with {body} in each request)"
        description = worded(sentence, model=model, decoding=decoding, body=body)
    return OtherModel(other.name, description, evaluation.compare(without("decoding", scored.pairs), chosen.pairs))


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


def _write(comparison: Comparison, background: Background, evidence: Evidence, evaluation: Evaluation) -> None:
    output, metrics = evaluation.output, background.ground_truth
    (output / METRICS_FILE).write_text(json.dumps(metrics, indent=1), encoding="utf-8")
    document: dict[str, Any] = {
        **comparison.report(),
        "serving": [asdict(each) for each in background.serving],
        "looks": asdict(background.looks) if background.looks else None,
        "general": background.general.report() if background.general else None,
        "identities": dict(background.identities),
        "champion": background.champion.report() if background.champion else None,
        "ladder": {
            rung.name: {"description": rung.what, "draws": 1, **rung.found.report()} for rung in background.ladder
        },
        "chosen_seed": evidence.chosen_seed,
        "untold": dict(evidence.missing_references),
        "left_out": dict(background.left_out),
        "known_to_base": dict(background.known_to_base),
        "others": {
            other.name: {"description": other.description, **other.comparison.report()} for other in background.others
        },
    }
    steps = next_steps(document, metrics, Counter(row.task for row in evaluation.training), evaluation.trained)
    write_report({**document, "next": [each._asdict() for each in steps]}, output)
    drawn = draw(comparison)
    write_figures(drawn, output)
    write_report_files(comparison, replace(background, next_steps=steps), output, drawn)
