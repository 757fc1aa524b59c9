"""Stages of cheap scores, and the plan that is made of them before any training.

Base and SFT answer the validation prompts in a child process each, here or where inference runs. Only the split of
validation is read: the test split keeps its first look for the evaluation.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from flows.plan.decision import decided, narrowed, ways
from flows.plan.prices import has_plan, price_of
from flows.runtime.runs import stage_flow
from flows.stages.adoption import Adopted, adopt
from flows.stages.answers import GUIDED, MODEL_STAGE, Made, rung_makers
from flows.stages.child_pool import do_all
from flows.stages.inputs import published
from flows.stages.remote import placed
from flows.stages.retraining import Until
from flows.stages.runner import Policies, Results, Session, Stage, StageResult, config_digest, run_stage
from flows.stages.train import train
from schemas.artifact import Origin
from schemas.progress import Progress
from schemas.tasks import TASK_NAMES
from tasks.lineage.mlflow.recorder import StageRun
from tasks.plan.draws import DrawRequest
from tasks.plan.plan import Terms, plan_training
from tasks.plan.scores import CheapScores, Model, read_scores
from tasks.plan.scoring import score_without_model
from tasks.plan.training_plan import Price, TrainingPlan
from tasks.train.preflight.check import COMPLETIONS_A_PROMPT

STAGE: Final = "cheap"


@dataclass(frozen=True)
class CheapPart:
    """Results of all that is made before a training."""

    plan: TrainingPlan | None = None
    """None where nothing asked for a plan."""
    made: Mapping[str, Made] = field(default_factory=dict)
    """Models of rungs, or why they could not be made."""
    stages: Mapping[str, StageResult] = field(default_factory=dict)


def make_policies(session: Session, given: Results, until: Until, adopted: Adopted) -> tuple[CheapPart, Policies]:
    """Plan and train, or take what another trainer made; no policy where the run ends before."""
    if adopted is not None:
        policies = adopt(session, given, adopted)
        return CheapPart(made=do_all(session.pool, rung_makers(session, given["dataset"], given["base"]))), policies
    cheap = cheap_part(session, given, until)
    trains = until not in {"audit", "plan"}
    return cheap, train(decided(session, given, cheap.plan), given) if trains else {}


def cheap_part(session: Session, given: Results, until: Until) -> CheapPart:
    """Make the rungs that need no policy, and a plan by them, where a training and an evaluation follow."""
    return plan_of(session, given) if until == "plan" or has_plan(session.config, until) else CheapPart()


@stage_flow("training-plan")
def plan_of(session: Session, given: Results) -> CheapPart:
    """Make the plan of a training that starts from prompts, dataset and base."""
    config, dataset, base = session.config, given["dataset"], given["base"]
    made = do_all(session.pool, rung_makers(session, dataset, base))
    before = published(session, dataset, base)
    models: dict[Model, StageResult] = {"base": before or base}
    tuned = base if config.warm_start.steps else made.get(MODEL_STAGE)
    if isinstance(tuned, StageResult):
        models["sft"] = tuned
    start: Model = "sft" if config.warm_start.steps else "base"
    works = {
        f"{STAGE}-{name}": partial(
            cheap_scores, session, {**given, "model": model}, name=name, in_groups=name in (start, "sft")
        )
        for name, model in models.items()
    } | {f"{STAGE}-baselines": partial(_baselines, session, given)}
    drawn = do_all(session.pool, works)
    scores = read_scores(each.path for each in drawn.values())
    terms = Terms(start, {task: config.curate.test_rows(task) for task in TASK_NAMES}, config.promote.over_rungs)
    plan = plan_training(scores, terms, algorithm=config.train.algorithm)
    of_worth = price_of(narrowed(config, dataset.path, plan.worth)) if plan.worth else Price(0.0, 0.0, 0.0)
    plan = replace(plan, price=price_of(config), price_of_worth=of_worth, commands=ways(config, dataset.path, plan))
    return CheapPart(plan, made, ({"published": before} if before else {}) | drawn)


def cheap_scores(session: Session, given: Results, *, name: Model, in_groups: bool) -> StageResult:
    """Let the model of `given` answer validation prompts in a child process and score them, or reuse the scores.

    With `in_groups` it also gives some prompts several free answers, as a training would.
    """
    config, asked = session.config, session.config.train.preflight
    settings: dict[str, Any] = {
        "name": name,
        "spec": config.rewards.spec,
        "seed": config.seed,
        "temperature": config.evaluate.temperature,
        "max_tokens": config.train.max_completion_tokens,
        "batch_size": config.evaluate.batch_size,
        "guided": GUIDED if name == "base" else "",
        "wording_prompts": asked.wordings if name == "base" else 0,
        "group_prompts": asked.prompts if in_groups else 0,
        "group_size": COMPLETIONS_A_PROMPT,
        "group_temperature": config.train.temperature,
        "group_guided": config.train.guided,
    }
    made_from = {role: given[role].record for role in ("prompts", "dataset", "model")}

    def work(output: Path, progress: Progress, _: StageRun) -> Origin:
        where = {"dataset": given["dataset"].path, "store": given["prompts"].path / "store", "output": output}
        request = DrawRequest(**settings, **where, model=given["model"].path)
        return session.run_child(stage, request, session.folder(stage.name), progress)

    stage = Stage(
        name=f"{STAGE}-{name}",
        kind="scores",
        sources=("tasks.plan.draws",),
        config_digest=config_digest(settings),
        inputs=made_from,
        work=work,
        summary=_figures,
    )
    return run_stage(placed(stage, session, STAGE, made_from, name=name, in_groups=in_groups), session)


def _baselines(session: Session, given: Results) -> StageResult:
    """Score the answers that take no model."""
    config, made_from = session.config, {role: given[role].record for role in ("prompts", "dataset")}

    def work(output: Path, _progress: Progress, _run: StageRun) -> None:
        store = given["prompts"].path / "store"
        score_without_model(given["dataset"].path, store, config.rewards.spec, config.seed, output)

    stage = Stage(
        name=f"{STAGE}-baselines",
        kind="scores",
        sources=("tasks.plan.scoring",),
        config_digest=config_digest(config.rewards.spec, config.seed),
        inputs=made_from,
        work=work,
        summary=_figures,
    )
    return run_stage(stage, session)


def _figures(folder: Path) -> Mapping[str, Any]:
    scores: CheapScores = read_scores([folder])
    return {"answers": len(scores.served), "groups": len(scores.groups), "tokens": scores.tokens}
