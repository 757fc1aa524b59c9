"""Flow `evaluate`: base, challengers, champion and rivals on the test split, which no earlier stage reads."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from flows.runtime.console import say, warn
from flows.runtime.runs import linked_to_mlflow, show_markdown, stage_flow
from flows.stages.answers import MODEL_STAGE, SFT, Answering, Made, answer, answer_rival, answer_rungs
from flows.stages.child_pool import do_all
from flows.stages.inputs import merge, published
from flows.stages.runner import Policies, Results, Session, Stage, StageResult, config_digest, run_stage
from flows.stages.train import best_seed
from schemas.artifact import ArtifactRecord
from schemas.config.evaluate import EvaluateConfig
from schemas.config.section import HOW_IT_IS_REACHED
from schemas.config.train import TrainConfig
from schemas.errors import InputError
from schemas.progress import Progress
from schemas.tables.prompts import KNOWN_TO_BASE, TEST_FILE, TRAIN_FILE, read_prompts
from schemas.tables.summaries import DatasetSummary
from tasks.commerce.registry import joint_version
from tasks.evaluate.compare import BASE, CHAMPION, REPORT_FILE, REPORT_TEXT, TUNED, metrics_of_report, read_report
from tasks.evaluate.completions.page import PAGE_FILE
from tasks.evaluate.completions.rows import LoggedTraining, RaisedAlarm
from tasks.evaluate.preregistration import EvaluationPlan, count_looks, write_plan
from tasks.evaluate.report.background import Background
from tasks.evaluate.report.page import REPORT_PAGE
from tasks.evaluate.stage import Evaluation, ShownModel
from tasks.evaluate.stage import run as run_evaluation
from tasks.lineage.mlflow.recorder import StageRun
from tasks.lineage.store.artifacts import ArtifactDamaged
from tasks.next_steps.steps import read_trained
from tasks.personal_data.scrub import scrub_column
from tasks.policy.endpoint import EndpointError
from tasks.report.wording import spoken
from tasks.train.grpo.rollout_log import ROLLOUTS_FOLDER
from tasks.train.summaries import SUMMARY_FILE, TASKS_FOLDER, read_summary
from tasks.train.watch.alarms import past_alarms

STAGE = "evaluate"
PLANNED: Final = {*EvaluateConfig.model_fields} & {*EvaluationPlan.model_fields}


def champion_for(session: Session, challenger: ArtifactRecord) -> ArtifactRecord | None:
    """Return the policy of the registry's champion; None where there is none.

    A challenger that became the champion is compared with its predecessor, if that still exists: a repeated command
    then gives the same result.
    """
    store, registry, names = session.store, session.registry, session.config.promote
    holder = registry.holder(names.model_name, names.alias)
    if holder is None:
        return None
    if holder.policy == challenger.sha256:
        known = {version.policy for version in registry.versions(names.model_name)}
        with suppress(ArtifactDamaged):
            before = store.record(holder.evaluation).inputs.get("champion")
            if before is not None and before in known:
                store.verify(before)
                return store.record(before)
        return None
    try:
        store.verify(holder.policy)
        return store.record(holder.policy)
    except ArtifactDamaged as error:
        raise InputError(
            f"the champion, version {holder.version}, cannot be compared with: {error}; bring its artifact back, or "
            "leave it out with --set evaluate.against_champion=false"
        ) from error


@stage_flow(STAGE)
def evaluate(session: Session, given: Results, policies: Policies, for_rungs: Mapping[str, Made]) -> Results:
    """Plan, answer, score and compare, and write the report; return the stages, of which `evaluate` is the last.

    All policies, by training seed, are compared with the base; the one that may be promoted with the champion too.
    These answer as they are or would be served, on weights that are not quantized: a policy merged into its base, or
    beside it where each task has an adapter of its own. The base of the comparison is the model as published: its
    warm start is part of the training, and the rung `sft`. The rivals answer too, and decide nothing.
    """
    if not any(read_summary(each.path)["steps"] for each in policies.values()):
        recipe = session.config.train.model_copy(update={"max_steps": 0})  # SFT is the policy itself, and no rung.
        session = replace(session, config=session.config.model_copy(update={"train": recipe}))
    config, store = session.config, session.store
    prompts, dataset, base = (given[role] for role in ("prompts", "dataset", "base"))
    chosen = best_seed(policies)
    champion = champion_for(session, policies[chosen].record) if config.evaluate.against_champion else None
    start = (before := given.get("published") or published(session, dataset, base)) or base
    plan = _plan(session, dataset, start, policies, champion)
    names = {seed: TUNED if len(policies) == 1 else f"{TUNED}-seed{seed}" for seed in policies}
    merged: dict[str, StageResult] = {}

    def as_served(name: str, trained_on: ArtifactRecord, policy: ArtifactRecord) -> Answering:
        stage_name = f"merge-{name}"
        made = merge(session, trained_on, policy, dataset, name=stage_name)
        if made is not None:
            merged[stage_name] = made
        return Answering(name, trained_on, policy, made.record if made else None, general=general and name in compared)

    # The champion's answers to the instructions are those that it gave as a challenger.
    general, compared = config.evaluate.general != "off", (names[chosen], CHAMPION)
    answering = [Answering(BASE, start.record, general=general)]
    answering += [as_served(names[seed], base.record, each.record) for seed, each in policies.items()]
    if champion is not None:
        answering.append(as_served(CHAMPION, store.record(champion.inputs["base"]), champion))
    answers = do_all(session.pool, {who.name: partial(answer, session, dataset, plan, who) for who in answering})
    answers |= _answers_of_rivals(session, dataset, plan)
    rungs, left_out = answer_rungs(session, dataset, plan, start, {MODEL_STAGE: base, **for_rungs})
    answers |= {str(rung): each for rung, each in rungs.items()}
    made = {name: each for name, each in for_rungs.items() if SFT in rungs and isinstance(each, StageResult)}
    rivals = [rival for rival in config.evaluate.rivals if f"rival-{rival.name}" in answers]
    others = [ShownModel(rival.name, answers[f"rival-{rival.name}"].path, rival.model, rival) for rival in rivals]
    models = {BASE: start.record, **{f"policy-{names[seed]}": each.record for seed, each in policies.items()}}
    models |= {CHAMPION: champion} if champion else {}
    inputs = {role: given[role].record for role in ("prompts", "dataset", "audit")} | {"plan": plan.record, **models}
    inputs |= {name: each.record for name, each in (merged | made).items()}
    inputs |= {f"answers-{name}": each.record for name, each in answers.items()}

    @spoken(config.language, config.workers.reais_per_dollar)
    def work(output: Path, progress: Progress, _: StageRun) -> None:
        looks = count_looks(store, plan.record)
        if looks.number > 1:
            say(f"evaluate: look {looks.number} of this challenger at this test split; the report says so")
        evaluation = Evaluation(
            config.evaluate,
            config.rewards.spec,
            config.seed,
            store=prompts.path / "store",
            training=read_prompts(dataset.path / TRAIN_FILE),
            base=answers[BASE].path,
            tuned={seed: answers[names[seed]].path for seed in policies},
            champion=answers[CHAMPION].path if champion else None,
            others=others,
            rungs={rung: each.path for rung, each in rungs.items()},
            over_rungs=config.promote.over_rungs,
            chosen_seed=chosen,
            known=Background(
                identities={role: record.sha256 for role, record in inputs.items()} | {"code": stage.code_version},
                champion_name=champion.sha256[:12] if champion else "",
                looks=looks,
                known_to_base=DatasetSummary.read(dataset.path).reasons[KNOWN_TO_BASE],
                weights=(
                    "Base, tuned and champion answered with the weights that are served, or would be: not quantized, "
                    "and an adapter for all tasks merged into its base."
                ),
                left_out=left_out,
            ),
            prices=config.workers.prices,
            trainings=[logged_training(seed, policy) for seed, policy in policies.items()],
            trained=read_trained(policies[chosen].path, policies[chosen].record.config, prompts.path),
            scrub=scrub_column,
            output=output,
        )
        run_evaluation(evaluation, progress)

    but: dict[str, Any] = {"against_champion": True, "rivals": {"__all__": set(HOW_IT_IS_REACHED)}}
    settings = config.evaluate.model_dump(mode="json", exclude=but)
    prices = config.workers.model_dump(include={"prices"})
    shown = (config.language, config.workers.reais_per_dollar, config.promote.over_rungs, prices)
    stage = Stage(
        name=STAGE,
        kind="evaluation",
        # This flow too: it writes sentences of the report.
        sources=("flows.stages.evaluate",),
        config_digest=config_digest(config.seed, settings, config.rewards.spec, left_out, *shown),
        inputs=inputs,
        work=work,
        summary=_figures,
        reports=(REPORT_PAGE, PAGE_FILE, REPORT_FILE, REPORT_TEXT, "figures/forest.svg"),
    )
    result = run_stage(stage, session)
    text = linked_to_mlflow((result.path / REPORT_TEXT).read_text(encoding="utf-8"), result.record, config)
    show_markdown(key="evaluation", markdown=text, description="Did the model get better?")
    stages = ({"published": before} if before else {}) | {"plan": plan, **merged, **made}
    return stages | {f"answer-{name}": each for name, each in answers.items()} | {STAGE: result}


def _answers_of_rivals(session: Session, dataset: StageResult, plan: StageResult) -> dict[str, StageResult]:
    answers: dict[str, StageResult] = {}
    for rival in session.config.evaluate.rivals:
        try:
            answers[f"rival-{rival.name}"] = answer_rival(session, dataset, plan, rival)
        except EndpointError as error:
            # It decides nothing, so its failure stops nothing; its answers so far are kept for the next run.
            warn(f"{error}; the evaluation continues without it", STAGE)
    return answers


def _plan(
    session: Session, dataset: StageResult, base: StageResult, policies: Policies, champion: ArtifactRecord | None
) -> StageResult:
    """Write the plan of the evaluation before any test answer is drawn; an equal plan keeps its time."""
    config = session.config
    plan = EvaluationPlan(
        **{**config.evaluate.model_dump(include=PLANNED), "rungs": config.rungs},
        over_rungs=config.promote.over_rungs,
        seed=config.seed,
        max_tokens=config.train.max_completion_tokens,
        spec=config.rewards.spec,
        reward_version=joint_version(config.rewards.spec),
        test_split=dataset.record.files[TEST_FILE],
        base=base.record.sha256,
        challengers={seed: policy.record.sha256 for seed, policy in policies.items()},
        champion=champion.sha256 if champion else None,
    )
    stage = Stage(
        name="plan",
        kind="plan",
        sources=("tasks.evaluate.preregistration",),
        config_digest=config_digest(plan.model_dump(mode="json")),
        inputs={},
        order_only_inputs={"dataset": dataset.record},
        work=lambda output, _progress, _run: write_plan(plan, output),
        summary=lambda _: {"margin": plan.margin, "challengers": len(plan.challengers)},
    )
    return run_stage(stage, replace(session, fresh=None))


def _figures(folder: Path) -> Mapping[str, Any]:
    report = read_report(folder)
    return {"verdict": report["gate"]["verdict"], "look": report["looks"]["number"], **metrics_of_report(report)}


def logged_training(seed: int, policy: StageResult) -> LoggedTraining:
    """Return a training's rollouts, validations and alarms; trainings of one task each count as one."""
    # Limits decide no policy, so the run's own may have changed since; other fields may be of an earlier version.
    recorded = policy.record.config.get("train", {})
    recipe = TrainConfig.model_validate({name: recorded[name] for name in ("alarms", "iterations") if name in recorded})
    alone = [file.parent for file in sorted((policy.path / TASKS_FOLDER).glob(f"*/{SUMMARY_FILE}"))]
    alarms = [
        RaisedAlarm(alarm.step, alarm.name, alarm.text)
        for folder in alone or [policy.path]
        for alarm in past_alarms(read_summary(folder), recipe.alarms, recipe.iterations)
    ]
    return LoggedTraining(
        seed,
        tuple(log for folder in alone or [policy.path] for log in sorted((folder / ROLLOUTS_FOLDER).glob("*.parquet"))),
        {entry["step"]: entry["by_task"] for entry in read_summary(policy.path)["validation"]},
        tuple(sorted(alarms, key=lambda alarm: alarm.step)),
    )
