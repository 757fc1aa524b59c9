"""The evaluate flow: base against tuned on the test split, which nothing before it has read."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.artifacts import create_markdown_artifact

from flows.console import interval
from flows.session import work_folder
from flows.stage import Stage, StageResult, config_digest, run_stage
from flows.train import best_seed
from schemas.config import Config
from schemas.progress import Progress
from tasks.evaluate import stage as evaluate_stage
from tasks.evaluate.answer import AnswerRequest
from tasks.lineage.recorder import StageRun
from tasks.policy.child import run_child
from tasks.train.summaries import read_summary


@flow(name="evaluate", validate_parameters=False)
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
) -> StageResult:
    """Answer, score and compare, and write the report.

    All policies, by training seed, are compared with the base; what else is shown is of the one that may be promoted.
    """

    def work(output: Path, progress: Progress, _: StageRun) -> None:
        request = AnswerRequest(
            base=base.path,
            policies={seed: policy.path for seed, policy in policies.items()},
            load_in_4bit=config.train.load_in_4bit,
            dataset=dataset.path,
            temperature=config.evaluate.temperature,
            max_tokens=config.train.max_completion_tokens,
            batch_size=config.evaluate.batch_size,
            seed=config.seed,
            output=output,
        )
        run_child(
            "tasks.evaluate.answer",
            request,
            work_folder(config, "evaluate"),
            interpreter=config.train.interpreter,
            progress=progress,
        )
        evaluate_stage.run(
            config.evaluate,
            config.rewards.spec,
            config.seed,
            store=prompts.path / "store",
            training_seeds=tuple(policies),
            chosen_seed=chosen,
            training=read_summary(policies[chosen].path),
            identities=identities,
            output=output,
        )

    chosen = best_seed(policies)
    roles = {seed: "policy" if len(policies) == 1 else f"policy-seed{seed}" for seed in policies}
    inputs = {"prompts": prompts, "dataset": dataset, "base": base, "audit": audit}
    inputs |= {roles[seed]: policy for seed, policy in policies.items()}
    identities = {role: result.record.sha256 for role, result in inputs.items()}
    if len(policies) > 1:
        identities["chosen policy"] = roles[chosen]
    stage = Stage(
        name="evaluate",
        kind="evaluation",
        sources=("schemas", "tasks.commerce", "tasks.policy", "tasks.evaluate", "data/lexicons", "data/wordings"),
        config_digest=config_digest(
            config.seed,
            config.evaluate.model_dump(mode="json"),
            config.rewards.spec,
            config.train.max_completion_tokens,
            config.train.load_in_4bit,
        ),
        inputs={role: result.record for role, result in inputs.items()},
        work=work,
        summary=_figures,
        reports=("report.html", "report.json"),
    )
    result = run_stage(stage, config, pipeline_run, fresh=fresh)
    report = read_report(result.path)
    create_markdown_artifact(key="evaluation", markdown=_as_markdown(report), description="Did the model get better?")
    return result


def read_report(folder: Path) -> Any:
    """Read an evaluation's report.json."""
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))


def _figures(folder: Path) -> Mapping[str, Any]:
    report = read_report(folder)
    figures = {
        f"{name} difference": f"{block['mean_difference']:+.3f} ({interval(block)})"
        for name, block in (("overall", report["overall"]), *report["tasks"].items())
    }
    return {**figures, "verdict": report["gate"]["verdict"]}


def _as_markdown(report: Mapping[str, Any]) -> str:
    lines = [
        f"**{report['gate']['verdict']}**",
        "",
        *(f"- {reason}" for reason in report["gate"]["reasons"]),
        "",
        "| | base | tuned | difference | 95 % interval | p (better) | verdict |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, block in (("overall", report["overall"]), *report["tasks"].items()):
        lines.append(
            f"| {name} | {block['mean_base']:.3f} | {block['mean_tuned']:.3f} | {block['mean_difference']:+.3f} "
            f"| {interval(block)} | {block['p_signflip']:.4f} | {block['verdict']} |"
        )
    return "\n".join(lines)
