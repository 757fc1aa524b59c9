"""The synthesize flow: a store and the prompts that are made from it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prefect import flow

from flows.stage import Stage, StageResult, config_digest, run_stage
from schemas.config import Config, SynthesizeConfig
from tasks.lineage.source import file_digests
from tasks.synthesize import stage as synthesize_stage


@flow(name="synthesize", validate_parameters=False)
def synthesize(config: Config, pipeline_run: str, *, fresh: bool = False) -> StageResult:
    """Make the store and the prompts."""
    stage = Stage(
        name="synthesize",
        kind="prompts",
        sources=(
            "schemas",
            "tasks.commerce",
            "tasks.synthesize",
            "data/reviews",
            "data/lexicons",
            "data/wordings",
            "data/questions",
        ),
        config_digest=config_digest(config.seed, _what_decides(config.synthesize)),
        inputs={},
        work=lambda output, progress, _: synthesize_stage.run(config.synthesize, config.seed, output, progress),
        summary=_figures,
        reports=("summary.json",),
    )
    return run_stage(stage, config, pipeline_run, fresh=fresh)


def _what_decides(config: SynthesizeConfig) -> dict[str, Any]:
    """Return the section with the content of Olist's files in place of the folder's name."""
    values = config.model_dump(mode="json", exclude={"olist_dir"})
    if config.olist_dir is not None:
        values["olist_files"] = file_digests(sorted(config.olist_dir.glob("*.csv")))
    return values


def _figures(folder: Path) -> Mapping[str, Any]:
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return {f"prompts {task}": count for task, count in summary["made"].items()}
