"""The train flow: GRPO on the adapter, resumed from its newest checkpoint where there is one."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prefect import flow

from flows.session import mirror_address, work_folder
from flows.stage import Stage, StageResult, config_digest, run_stage
from schemas.config import Config
from schemas.progress import Progress
from tasks.checkpoints.address import open_mirror
from tasks.lineage.recorder import StageRun
from tasks.policy.child import run_child
from tasks.train.grpo import SUMMARY_FILE, GrpoRequest


@flow(name="train", validate_parameters=False)
def train(
    config: Config,
    pipeline_run: str,
    prompts: StageResult,
    dataset: StageResult,
    base: StageResult,
    audit: StageResult,
    *,
    fresh: bool = False,
) -> StageResult:
    """Train the adapter.

    The audit that lets it start is recorded with it, and does not decide what comes out: where somebody adds a note to
    the sheet, training goes on from its checkpoints.
    """

    def work(output: Path, progress: Progress, mlflow_run: StageRun) -> None:
        training = f"train-{stage.key[:16]}"
        mirror, folder = mirror_address(config), work_folder(config, training)
        if fresh:
            open_mirror(mirror, training).clear()
        shutil.rmtree(folder, ignore_errors=True)
        request = GrpoRequest(
            config=config.train,
            spec=config.rewards.spec,
            validation_temperature=config.evaluate.temperature,
            validation_batch_size=config.evaluate.batch_size,
            seed=config.seed,
            base=base.path,
            dataset=dataset.path,
            store=prompts.path / "store",
            audit=audit.path,
            mirror=mirror,
            training=training,
            output=output,
        )
        run_child(
            "tasks.train.grpo",
            request,
            folder,
            interpreter=config.train.interpreter,
            progress=progress,
            metrics=mlflow_run.log_step,
        )
        mlflow_run.log_file(folder / "grpo.log")
        shutil.rmtree(folder)

    stage = Stage(
        name="train",
        kind="policy",
        sources=(
            "schemas",
            "tasks.commerce",
            "tasks.policy",
            "tasks.checkpoints",
            "tasks.train",
            "data/lexicons",
            "data/wordings",
        ),
        config_digest=config_digest(
            config.seed,
            config.train.model_dump(mode="json", exclude={"interpreter"}),
            config.rewards.spec,
            config.evaluate.temperature,
            config.evaluate.batch_size,
        ),
        inputs={
            "prompts": prompts.record,
            "dataset": dataset.record,
            "base": base.record,
        },
        permits={"audit": audit.record},
        work=work,
        summary=_figures,
        reports=(SUMMARY_FILE,),
    )
    return run_stage(stage, config, pipeline_run, fresh=fresh)


def _figures(folder: Path) -> Mapping[str, Any]:
    summary = json.loads((folder / SUMMARY_FILE).read_text(encoding="utf-8"))
    by_step = {entry["step"]: entry["mean_reward"] for entry in summary["validation"]}
    return {
        "steps": summary["steps"],
        "chosen step": summary["chosen_step"],
        "stopped early": summary["stopped_early"],
        "validation reward before": round(by_step[0], 4),
        "validation reward chosen": round(by_step[summary["chosen_step"]], 4),
    }
