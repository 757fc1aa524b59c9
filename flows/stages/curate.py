"""The curate flow: prompts validated and split into one immutable dataset."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prefect import flow

from flows.shard_runners import map_shards
from flows.stage import Stage, StageResult, config_digest, run_stage
from schemas.config import Config, PolicyConfig
from schemas.progress import Progress
from tasks.curate import stage as curate_stage
from tasks.lineage.recorder import StageRun
from tasks.lineage.source import file_digests

TOKENIZER_FILES = {".json", ".txt", ".jinja", ".model"}
"""What a model's folder has beside its weights."""


@flow(name="curate", flow_run_name="curate-seed{config.seed}", validate_parameters=False)
def curate(config: Config, pipeline_run: str, prompts: StageResult, *, fresh: bool = False) -> StageResult:
    """Make the dataset out of the prompts."""

    def work(output: Path, progress: Progress, _: StageRun) -> None:
        curate_stage.run(config.curate, config.policy, prompts.path, output, progress, map_shards(config.curate))

    stage = Stage(
        name="curate",
        kind="dataset",
        sources=(
            "schemas",
            "tasks.curate",
            "tasks.policy.length",
            "tasks.policy.generate",
            "tasks.policy.stand_in",
            "tasks/policy/chat_template.jinja",
            "constraints/laptop.txt",
        ),
        config_digest=config_digest(_what_decides(config)),
        inputs={"prompts": prompts.record},
        work=work,
        summary=_figures,
        reports=("README.md", "summary.json"),
    )
    return run_stage(stage, config, pipeline_run, fresh=fresh)


def _what_decides(config: Config) -> dict[str, Any]:
    """Return what decides the dataset: of general instructions the content, of the workers nothing."""
    workers = {"runner", "workers", "dask_address", "shard_rows"}
    values = config.curate.model_dump(mode="json", exclude={*workers, "general"})
    if config.curate.general is not None:
        values["general"] = config.curate.general.model_dump(mode="json", exclude={"path"})
        values["general_file"] = file_digests([config.curate.general.path])
    return {**values, "tokenizer": _tokenizer(config.policy)}


def _tokenizer(policy: PolicyConfig) -> object:
    """Name what prompts are measured with: of a folder the content, of a hub the name."""
    if policy.stand_in:
        return None
    files = [file for file in sorted(Path(policy.name).glob("*")) if file.suffix in TOKENIZER_FILES]
    return file_digests(files) if files else policy.name


def _figures(folder: Path) -> Mapping[str, Any]:
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    figures = {name: summary[name] for name in ("train", "validation", "test", "quarantined")}
    for reason, tasks in summary["reasons"].items():
        figures |= {f"{reason}: {task}": count for task, count in tasks.items()}
    return figures | {f"replaced: {kind}": count for kind, count in summary["scrubbed"].items() if count}
