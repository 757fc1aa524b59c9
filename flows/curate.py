"""The curate flow: prompts validated and split into one immutable dataset."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prefect import flow

from flows.stage import Stage, StageResult, config_digest, run_stage
from schemas.config import Config
from tasks.curate import stage as curate_stage


@flow(name="curate", validate_parameters=False)
def curate(config: Config, pipeline_run: str, prompts: StageResult, *, fresh: bool = False) -> StageResult:
    """Make the dataset out of the prompts."""
    stage = Stage(
        name="curate",
        kind="dataset",
        sources=("schemas", "tasks.curate"),
        config_digest=config_digest(config.seed, config.curate.model_dump(mode="json")),
        inputs={"prompts": prompts.record},
        work=lambda output, _progress, _run: curate_stage.run(config.curate, config.seed, prompts.path, output),
        summary=_figures,
        reports=("README.md", "summary.json"),
    )
    return run_stage(stage, config, pipeline_run, fresh=fresh)


def _figures(folder: Path) -> Mapping[str, Any]:
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return {name: summary[name] for name in ("train", "validation", "test", "quarantined")}
