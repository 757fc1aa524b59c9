"""The evaluate flow: base, challengers, champion and rival on the test split, which nothing before it has read."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.artifacts import create_markdown_artifact

from flows.answers import Answering, answer, answer_rival
from flows.champion import Champion, champion_for
from flows.console import interval, say
from flows.session import mlflow_store, work_folder
from flows.stage import Stage, StageResult, config_digest, open_store, run_stage
from flows.train import best_seed
from schemas.artifact import ArtifactRecord
from schemas.config import Config
from schemas.evaluate_config import JudgeConfig
from schemas.progress import Progress
from tasks.commerce.registry import reward_version
from tasks.evaluate import stage as evaluate_stage
from tasks.evaluate.background import AnsweredPrompt
from tasks.evaluate.judge import JudgeReport, judge_insights
from tasks.evaluate.plan import TEST_SPLIT, EvaluationPlan, count_looks, write_plan
from tasks.evaluate.stage import BASE, CHAMPION, RIVAL, TEXT_FILE, Answered, Known
from tasks.lineage.judging import Judgement, record_judgements
from tasks.lineage.recorder import StageRun
from tasks.train.summaries import read_summary

STAGE = "evaluate"
SOURCES = ("schemas", "tasks.commerce", "tasks.evaluate", "data/lexicons", "data/wordings")
HOW_IT_IS_REACHED = {"key_variable", "concurrency", "timeout_seconds", "max_attempts"}
"""Settings of an endpoint that are in no key: what it says is the same."""


@flow(name=STAGE, validate_parameters=False)
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
    ask = partial(answer, config, pipeline_run, dataset, plan, fresh=fresh)
    names = {seed: "tuned" if len(policies) == 1 else f"tuned-seed{seed}" for seed in policies}
    answers = {BASE: ask(Answering(BASE, base.record))}
    answers |= {names[seed]: ask(Answering(names[seed], base.record, each.record)) for seed, each in policies.items()}
    if champion is not None:
        answers[CHAMPION] = ask(Answering(CHAMPION, champion.base, champion.policy))
    if config.evaluate.rival is not None:
        answers[RIVAL] = answer_rival(config, pipeline_run, dataset, plan, config.evaluate.rival, fresh=fresh)
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
            answered=Answered(
                base=answers[BASE].path,
                tuned={seed: answers[names[seed]].path for seed in policies},
                champion=answers[CHAMPION].path if CHAMPION in answers else None,
                rival=answers[RIVAL].path if RIVAL in answers else None,
            ),
            known=Known(
                chosen_seed=chosen,
                trainings={seed: read_summary(policy.path) for seed, policy in policies.items()},
                identities=_identities(inputs, names[chosen], code_version=stage.code_version),
                decoding=f"temperature {config.evaluate.temperature:g}, {config.train.max_completion_tokens} tokens",
                looks=looks,
                champion_name=champion.policy.sha256[:12] if champion else "",
            ),
            judge=partial(_judge, config, judge, audit, mlflow_run, progress) if judge else None,
            progress=progress,
            output=output,
        )

    stage = Stage(
        name=STAGE,
        kind="evaluation",
        sources=SOURCES,
        config_digest=config_digest(
            config.seed,
            config.evaluate.model_dump(
                mode="json",
                exclude={"against_champion": True, "judge": HOW_IT_IS_REACHED, "rival": HOW_IT_IS_REACHED},
            ),
            config.rewards.spec,
        ),
        inputs=inputs,
        work=work,
        summary=_figures,
        reports=("report.html", "report.json", TEXT_FILE, "figures/forest.svg"),
    )
    result = run_stage(stage, config, pipeline_run, fresh=fresh)
    text = (result.path / TEXT_FILE).read_text(encoding="utf-8")
    create_markdown_artifact(key="evaluation", markdown=text, description="Did the model get better?")
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
        test_split=dataset.record.files[TEST_SPLIT],
        base=base.record.sha256,
        challengers={seed: policy.record.sha256 for seed, policy in policies.items()},
        champion=champion.policy.sha256 if champion else None,
    )
    stage = Stage(
        name="plan",
        kind="plan",
        sources=("tasks.evaluate.plan",),
        config_digest=config_digest(plan.model_dump(mode="json")),
        inputs={},
        permits={"dataset": dataset.record},
        work=lambda output, _progress, _run: write_plan(plan, output),
        summary=lambda _: {"margin": plan.margin, "challengers": len(plan.challengers)},
    )
    return run_stage(stage, config, pipeline_run, fresh=False)


def _identities(inputs: Mapping[str, ArtifactRecord], chosen: str, code_version: str) -> dict[str, str]:
    return {**{role: record.sha256 for role, record in inputs.items()}, "chosen": chosen, "code": code_version}


def _judge(
    config: Config,
    judge: JudgeConfig,
    audit: StageResult,
    mlflow_run: StageRun,
    progress: Progress,
    answers: Sequence[AnsweredPrompt],
) -> JudgeReport:
    def record(name: str, judgements: Sequence[Judgement]) -> None:
        uri, _ = mlflow_store(config.state.root)
        record_judgements(uri, mlflow_run.run_id, name, judge.model, judgements)

    folder = work_folder(config, "judge")
    return judge_insights(judge, answers, audit.path, config.seed, work=folder, record=record, progress=progress)


def read_report(folder: Path) -> Any:
    """Read an evaluation's report.json."""
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))


def _figures(folder: Path) -> Mapping[str, Any]:
    report = read_report(folder)
    figures = {
        f"{name} difference": f"{block['mean_difference']:+.3f} ({interval(block)})"
        for name, block in (("overall", report["overall"]), *report["tasks"].items())
    }
    look = report["looks"]["number"]
    return {**figures, **_numbers(report), "look": look, "verdict": report["gate"]["verdict"]}


def _numbers(report: Mapping[str, Any]) -> dict[str, float]:
    """Return what MLflow draws from run to run."""
    blocks = {"overall": report["overall"], **report["tasks"]}
    return {
        f"{name}.{figure}": float(block[figure])
        for name, block in blocks.items()
        for figure in ("mean_base", "mean_tuned", "mean_difference", "p_signflip")
    }
