"""The base flow: the model that training starts from."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prefect import flow

from flows.console import say
from flows.session import work_folder
from flows.stage import Stage, StageResult, config_digest, run_stage
from schemas.config import Config
from schemas.instructions import GENERAL_FILE
from schemas.progress import Progress
from tasks.lineage.recorder import StageRun
from tasks.policy.child import run_child
from tasks.train.warm_start import SUMMARY_FILE, WarmStartRequest


@flow(name="base", flow_run_name="base-seed{config.seed}", validate_parameters=False)
def base(config: Config, pipeline_run: str, dataset: StageResult, *, fresh: bool = False) -> StageResult:
    """Build the stand-in, or fetch the named model, and give it its warm start."""

    def work(output: Path, progress: Progress, mlflow_run: StageRun) -> None:
        if not config.warm_start.steps and (dataset.path / GENERAL_FILE).exists():
            say("base: warning: warm_start.steps is 0, so the general instructions are not used")
        request = WarmStartRequest(
            policy=config.policy,
            warm_start=config.warm_start,
            seed=config.seed,
            dataset=dataset.path,
            output=output,
        )
        run_child(
            "tasks.train.warm_start",
            request,
            work_folder(config, "base"),
            interpreter=config.train.interpreter,
            progress=progress,
            metrics=mlflow_run.log_step,
        )

    stage = Stage(
        name="base",
        kind="base",
        sources=("schemas", "tasks.commerce", "tasks.policy", "tasks.train", "data/lexicons", "data/wordings"),
        config_digest=config_digest(
            config.seed, config.policy.model_dump(mode="json"), config.warm_start.model_dump(mode="json")
        ),
        inputs={"dataset": dataset.record},
        work=work,
        summary=_figures,
    )
    return run_stage(stage, config, pipeline_run, fresh=fresh)


def _figures(folder: Path) -> Mapping[str, Any]:
    file = folder / SUMMARY_FILE
    if not file.exists():
        return {"model": "fetched by name"}
    summary = json.loads(file.read_text(encoding="utf-8"))
    losses = [entry["loss"] for entry in summary["log"]]
    return {
        "parameters": summary["parameters"],
        "demonstrations": summary["demonstrations"],
        "general": summary["general"],
        "first loss": losses[0],
        "last loss": losses[-1],
    }
