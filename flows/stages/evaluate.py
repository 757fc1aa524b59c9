"""The evaluate flow: base, challengers, champion and rival on the test split, which nothing before it has read."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.artifacts import create_markdown_artifact

from flows.answers import Answering, answer, answer_rival
from flows.champion import Champion, champion_for
from flows.console import say
from flows.pages import linked_to_mlflow
from flows.session import mlflow_store, work_folder
from flows.stage import Stage, StageResult, config_digest, open_store, run_stage
from flows.train import best_seed
from schemas.config import Config
from schemas.endpoint_section import HOW_IT_IS_REACHED
from schemas.evaluate_config import JudgeConfig
from schemas.progress import Progress
from schemas.prompts import TEST_FILE
from tasks.commerce.registry import reward_version
from tasks.evaluate import stage as evaluate_stage
from tasks.evaluate.background import AnsweredPrompt, Background, LearningCurve
from tasks.evaluate.compare import REPORT_FILE, read_report
from tasks.evaluate.judge import JudgeReport, judge_insights
from tasks.evaluate.preregistration import EvaluationPlan, count_looks, write_plan
from tasks.evaluate.report import REPORT_PAGE
from tasks.evaluate.report_metrics import metrics_of_report
from tasks.evaluate.report_text import REPORT_TEXT
from tasks.evaluate.stage import BASE, CHAMPION, RIVAL
from tasks.evaluate.wording import interval, signed
from tasks.lineage.judging import Judgement, record_judgements
from tasks.lineage.recorder import StageRun
from tasks.policy.endpoint import EndpointError
from tasks.train.summaries import read_summary

STAGE = "evaluate"
SOURCES = ("schemas", "tasks.commerce", "tasks.evaluate", "data/lexicons", "data/wordings")


@flow(name=STAGE, flow_run_name="evaluate-seed{config.seed}", validate_parameters=False)
def evaluate(
    config: Config,
    pipeline_run: str,
    prompts: StageResult,
    dataset: StageResult,
    base: StageResult,
    audit: StageResult,
    policies: Mapping[int, StageResult],
    *,
    fresh: bool = False,
) -> dict[str, StageResult]:
    """Plan, answer, score and compare, and write the report; return the stages, of which `evaluate` is the last.

    All policies, by training seed, are compared with the base; the one that may be promoted with the champion too.
    """
    chosen, judge = best_seed(policies), config.evaluate.judge
    champion = champion_for(config, policies[chosen].record) if config.evaluate.against_champion else None
    plan = _plan(config, pipeline_run, dataset, base, policies, champion)
    names = {seed: "tuned" if len(policies) == 1 else f"tuned-seed{seed}" for seed in policies}
    four_bit = config.train.load_in_4bit
    answering = [Answering(BASE, base.record, None, four_bit)]
    answering += [Answering(names[seed], base.record, each.record, four_bit) for seed, each in policies.items()]
    if champion is not None:
        answering.append(Answering(CHAMPION, champion.base, champion.policy, champion.load_in_4bit))
    answers = {who.name: answer(config, pipeline_run, dataset, plan, who, fresh=fresh) for who in answering}
    if config.evaluate.rival is not None:
        try:
            answers[RIVAL] = answer_rival(config, pipeline_run, dataset, plan, config.evaluate.rival, fresh=fresh)
        except EndpointError as error:
            # It decides nothing, so it stops nothing either; what it answered is kept for the next run.
            say(f"evaluate: warning: {error}; the evaluation goes on without it")
    models = {BASE: base.record, **{f"policy-{names[seed]}": each.record for seed, each in policies.items()}}
    models |= {CHAMPION: champion.policy} if champion else {}
    inputs = {
        "prompts": prompts.record,
        "dataset": dataset.record,
        "audit": audit.record,
        "plan": plan.record,
        **models,
    }
    inputs |= {f"answers-{name}": each.record for name, each in answers.items()}

    def work(output: Path, progress: Progress, mlflow_run: StageRun) -> None:
        looks = count_looks(open_store(config), plan.record)
        if looks.number > 1:
            say(f"evaluate: look {looks.number} of this challenger at this test split; the report says so")
        evaluate_stage.run(
            config.evaluate,
            config.rewards.spec,
            config.seed,
            store=prompts.path / "store",
            base=answers[BASE].path,
            tuned={seed: answers[names[seed]].path for seed in policies},
            others={name: answers[name].path for name in (CHAMPION, RIVAL) if name in answers},
            chosen_seed=chosen,
            known=Background(
                learning_curves={seed: _learning_curve(policy.path) for seed, policy in policies.items()},
                identities={role: record.sha256 for role, record in inputs.items()} | {"code": stage.code_version},
                champion_name=champion.policy.sha256[:12] if champion else "",
                looks=looks,
            ),
            judge=partial(_judge, config, judge, audit, mlflow_run, progress) if judge else None,
            progress=progress,
            output=output,
        )
        mlflow_run.log_figures(metrics_of_report(read_report(output)))

    stage = Stage(
        name=STAGE,
        kind="evaluation",
        sources=SOURCES,
        config_digest=config_digest(
            config.seed,
            config.evaluate.model_dump(
                mode="json",
                exclude={"against_champion": True, "judge": set(HOW_IT_IS_REACHED), "rival": set(HOW_IT_IS_REACHED)},
            ),
            config.rewards.spec,
        ),
        inputs=inputs,
        work=work,
        summary=_figures,
        reports=(REPORT_PAGE, REPORT_FILE, REPORT_TEXT, "figures/forest.svg", "figures/learning_curves.svg"),
    )
    result = run_stage(stage, config, pipeline_run, fresh=fresh)
    text = (result.path / REPORT_TEXT).read_text(encoding="utf-8")
    create_markdown_artifact(
        key="evaluation",
        markdown=linked_to_mlflow(text, result.record, config),
        description="Did the model get better?",
    )
    return {
        "plan": plan,
        **{f"answer-{name}": each for name, each in answers.items()},
        STAGE: result,
    }


def _plan(
    config: Config,
    pipeline_run: str,
    dataset: StageResult,
    base: StageResult,
    policies: Mapping[int, StageResult],
    champion: Champion | None,
) -> StageResult:
    """Write down what will count, before any answer to the test split is drawn; the same plan keeps its time."""
    plan = EvaluationPlan(
        margin=config.evaluate.margin,
        resamples=config.evaluate.resamples,
        seed=config.seed,
        temperature=config.evaluate.temperature,
        samples=config.evaluate.samples,
        max_tokens=config.train.max_completion_tokens,
        spec=config.rewards.spec,
        reward_version=reward_version(),
        test_split=dataset.record.files[TEST_FILE],
        base=base.record.sha256,
        challengers={seed: policy.record.sha256 for seed, policy in policies.items()},
        champion=champion.policy.sha256 if champion else None,
    )
    stage = Stage(
        name="plan",
        kind="plan",
        sources=("tasks.evaluate.preregistration",),
        config_digest=config_digest(plan.model_dump(mode="json")),
        inputs={},
        permits={"dataset": dataset.record},
        work=lambda output, _progress, _run: write_plan(plan, output),
        summary=lambda _: {"margin": plan.margin, "challengers": len(plan.challengers)},
    )
    return run_stage(stage, config, pipeline_run, fresh=False)


def _learning_curve(policy: Path) -> LearningCurve:
    summary = read_summary(policy)
    points = tuple((entry["step"], entry["mean_reward"]) for entry in summary["validation"])
    return LearningCurve(points, summary["chosen_step"])


def _judge(
    config: Config,
    judge: JudgeConfig,
    audit: StageResult,
    mlflow_run: StageRun,
    progress: Progress,
    answers: Sequence[AnsweredPrompt],
) -> JudgeReport | None:
    """Let the judge compare; it decides nothing, so that one that cannot be asked stops nothing either."""

    def record(name: str, judgements: Sequence[Judgement]) -> None:
        uri, _ = mlflow_store(config.state)
        record_judgements(uri, mlflow_run.run_id, name, judge.model, judgements)

    folder = work_folder(config, "judge")
    try:
        return judge_insights(judge, answers, audit.path, config.seed, work=folder, record=record, progress=progress)
    except EndpointError as error:
        say(f"evaluate: warning: {error}; the report goes without it, until the evaluation is made again with --fresh")
        return None


def _figures(folder: Path) -> Mapping[str, Any]:
    report = read_report(folder)
    figures = {
        f"{name} difference": f"{signed(block['mean_difference'])} ({interval(block['ci_low'], block['ci_high'])})"
        for name, block in (("overall", report["overall"]), *report["tasks"].items())
    }
    look = report["looks"]["number"]
    return {**figures, "look": look, "verdict": report["gate"]["verdict"]}
