"""Flow `curate`: prompts validated and split into one immutable dataset."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flows.runtime.console import warn
from flows.runtime.run_page import stage_flow
from flows.stages.runner import Session, Stage, StageResult, config_digest, run_stage
from schemas.config.config import Config
from schemas.config.policy import PolicyConfig
from schemas.progress import Progress
from schemas.tables.summaries import SUMMARY_FILE, DatasetSummary
from tasks.curate import stage as curate_stage
from tasks.curate.processes import in_processes
from tasks.lineage.mlflow.recorder import StageRun
from tasks.lineage.store.artifacts import file_digests
from tasks.policy.published import digests, given_template

TOKENIZER_FILES = {".json", ".txt", ".jinja", ".model"}
"""Suffixes of a model folder's files other than weights."""


@stage_flow("curate")
def curate(session: Session, prompts: StageResult) -> StageResult:
    """Make the dataset out of the prompts."""
    result = run_stage(dataset_stage(session.config, prompts), session)
    for warning in DatasetSummary.read(result.path).warnings:
        warn(warning, "curate")
    return result


def dataset_stage(config: Config, prompts: StageResult) -> Stage:
    """Return the stage."""

    def work(output: Path, progress: Progress, _: StageRun) -> None:
        curate_stage.run(
            config.curate, config.policy, prompts.path, output, progress, in_processes(config.curate.workers)
        )

    return Stage(
        name="curate",
        kind="dataset",
        sources=("tasks.curate.stage",),
        config_digest=config_digest(_key_inputs(config)),
        inputs={"prompts": prompts.record},
        work=work,
        summary=_figures,
        reports=("README.md", SUMMARY_FILE),
    )


def _key_inputs(config: Config) -> dict[str, Any]:
    """Return the settings that decide the dataset: files by content; workers not at all."""
    workers = {"workers", "shard_rows"}
    values = config.curate.model_dump(mode="json", exclude={*workers, "general", "known_to_base", "references"})
    if config.curate.known_to_base is not None:
        values["known_to_base"] = file_digests([config.curate.known_to_base])
    if config.curate.references is not None:
        values["references"] = file_digests([config.curate.references])
    if config.curate.general is not None:
        values["general"] = config.curate.general.model_dump(mode="json", exclude={"path"})
        values["general_file"] = file_digests([config.curate.general.file])
    return {**values, "tokenizer": _tokenizer(config.policy)}


def _tokenizer(policy: PolicyConfig) -> object:
    """Identify the tokenizer that measures prompts: a folder by content, a hub's model by name and revision.

    The stand-in's digests are those of its tokenizer, and of the prompts that it knows, too.
    """
    if policy.stand_in:
        return digests()
    files = [file for file in sorted(Path(policy.name).glob("*")) if file.suffix in TOKENIZER_FILES]
    where: object = file_digests(files) if files else [policy.name, policy.revision]
    return [where, given_template(policy), policy.chat_template_kwargs]


def _figures(folder: Path) -> Mapping[str, Any]:
    summary = DatasetSummary.read(folder)
    figures = {**summary.rows, "quarantined": summary.quarantined}
    for reason, tasks in summary.reasons.items():
        figures |= {f"{reason}: {task}": count for task, count in tasks.items()}
    figures |= {f"references by people: {task}": by["test"] for task, by in summary.references_by_people.items()}
    return figures | {f"replaced: {kind}": count for kind, count in summary.scrubbed.items() if count}
