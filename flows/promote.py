"""The promote flow: the registered model's alias moves only if the gate says so."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.artifacts import create_markdown_artifact

from flows.evaluate import read_report
from flows.stage import Stage, StageResult, config_digest, open_recorder, run_stage
from schemas.config import Config
from schemas.progress import Progress
from tasks.lineage.recorder import StageRun

DECISION_FILE = "decision.json"


@flow(name="promote", validate_parameters=False)
def promote(
    config: Config, pipeline_run: str, policy: StageResult, evaluation: StageResult, *, fresh: bool = False
) -> StageResult:
    """Register the model and move the alias on the gate's word."""

    def work(output: Path, _progress: Progress, mlflow_run: StageRun) -> None:
        report = read_report(evaluation.path)
        verdict = report["gate"]["verdict"]
        recorder = open_recorder(config)
        model, alias = config.promote.model_name, config.promote.alias
        before = recorder.holder(model, alias)
        registered = recorder.register(
            mlflow_run.run_id,
            model,
            policy=policy.record,
            evaluation=evaluation.record,
            verdict=verdict,
            metrics=_metrics(report),
        )
        if verdict == "promote":
            recorder.set_alias(model, alias, registered.version)
        decision = {
            "model": model,
            "version": registered.version,
            "alias": alias,
            "verdict": verdict,
            "reasons": report["gate"]["reasons"],
            "version_before": before.version if before else None,
        }
        (output / DECISION_FILE).write_text(json.dumps(decision, indent=1), encoding="utf-8")

    stage = Stage(
        name="promote",
        kind="promotion",
        sources=("schemas", "flows/promote.py", "tasks.lineage"),
        config_digest=config_digest(config.promote.model_dump(mode="json")),
        inputs={"policy": policy.record, "evaluation": evaluation.record},
        work=work,
        summary=read_decision,
        reports=(DECISION_FILE,),
    )
    result = run_stage(stage, config, pipeline_run, fresh=fresh)
    decision = read_decision(result.path)
    if result.reused and decision["verdict"] == "promote" and _nobody_holds_the_alias(config):
        # The registry was lost or emptied since: what was decided has to be registered again.
        result = run_stage(stage, config, pipeline_run, fresh=True)
        decision = read_decision(result.path)
    create_markdown_artifact(key="promotion", markdown=_as_markdown(decision), description="Did the alias move?")
    return result


def _nobody_holds_the_alias(config: Config) -> bool:
    return open_recorder(config).holder(config.promote.model_name, config.promote.alias) is None


def read_decision(folder: Path) -> Mapping[str, Any]:
    """Read what was decided: the model's version, the verdict and its reasons."""
    decision: Mapping[str, Any] = json.loads((folder / DECISION_FILE).read_text(encoding="utf-8"))
    return decision


def _metrics(report: Mapping[str, Any]) -> dict[str, float]:
    blocks = {"overall": report["overall"], **report["tasks"]}
    return {
        f"{name}.{figure}": float(block[figure])
        for name, block in blocks.items()
        for figure in ("mean_base", "mean_tuned", "mean_difference", "p_signflip")
    }


def _as_markdown(decision: Mapping[str, Any]) -> str:
    moved = decision["verdict"] == "promote"
    sentence = (
        f"**Version {decision['version']} of {decision['model']} is now `{decision['alias']}`.**"
        if moved
        else f"**Version {decision['version']} of {decision['model']} is held; `{decision['alias']}` stays.**"
    )
    return "\n".join([sentence, "", *(f"- {reason}" for reason in decision["reasons"])])
