"""Flows `synthesize` and `curate`: a store and prompts of it, and one immutable dataset of them.

Prompts may come from a served model's logs. A gateway logs on while a model is trained, and a run that resumed with
what was logged meanwhile would start from the beginning. So a run's prompts are kept in the state folder until it came
to its end, for their owner alone, as the logs are.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from flows.runtime.console import warn
from flows.runtime.run_page import stage_flow
from flows.runtime.session import own_files
from flows.stages.runner import Session, Stage, StageResult, Work, config_digest, run_stage
from schemas.config.config import Config, SynthesizeConfig
from schemas.config.policy import PolicyConfig
from schemas.progress import Progress
from schemas.tables.summaries import SUMMARY_FILE, DatasetSummary, PromptsSummary
from tasks.curate import stage as curate_stage
from tasks.curate.processes import in_processes
from tasks.lineage.mlflow.recorder import StageRun
from tasks.lineage.store.artifacts import file_digests
from tasks.policy.published import given_template
from tasks.policy.stand_in import digests
from tasks.synthesize import stage as synthesize_stage
from tasks.synthesize.own.opened import OwnFiles
from tasks.synthesize.served_prompts import write_served_prompts

SERVED_PROMPTS_FOLDER: Final = "served-prompts"
"""Folder of the state folder."""
SECONDS_KEPT: Final = 7 * 24 * 3600
"""Time after its last use for which a run's prompts are kept; a run that is resumed later reads the logs again."""


@stage_flow("synthesize")
def synthesize(session: Session) -> StageResult:
    """Make the store and the prompts."""
    config = session.config
    stage = prompts_stage(config, served_prompts(session), own_files(config.synthesize, config.state.root))
    result = run_stage(stage, session)
    for warning in PromptsSummary.read(result.path).warnings:
        warn(warning, "synthesize")
    return result


def prompts_stage(config: Config, served: Path | None, own: OwnFiles | None, otherwise: Work | None = None) -> Stage:
    """Return the stage."""

    def work(output: Path, progress: Progress, _: StageRun) -> None:
        synthesize_stage.run(config.synthesize, config.seed, output, progress, served, own)

    return Stage(
        name="synthesize",
        kind="prompts",
        sources=("tasks.synthesize.stage",),
        config_digest=config_digest(config.seed, _synthesize_inputs(config.synthesize, served, own)),
        inputs={},
        work=otherwise or work,
        summary=_prompts_figures,
        reports=(SUMMARY_FILE,),
    )


def _synthesize_inputs(config: SynthesizeConfig, served: Path | None, own: OwnFiles | None) -> dict[str, Any]:
    """Return the settings that decide the prompts: files by content."""
    values = config.model_dump(mode="json", exclude={"olist_dir", "files", "logs"})
    if own is not None:
        values["own_files"] = [*own.digests.values()]
    if served is not None:
        values["served_prompts"] = file_digests([served])
    if config.olist_dir is not None:
        values["olist_files"] = file_digests(sorted(config.olist_dir.glob("*.csv")))
    return values


def _prompts_figures(folder: Path) -> Mapping[str, Any]:
    summary = PromptsSummary.read(folder)
    figures: dict[str, Any] = {f"prompts {task}": n for task, n in summary.made.items() if summary.asked[task]}
    if summary.source == "files":
        figures |= {f"{task} from {source}": n for task, by in summary.origins.items() for source, n in by.items()}
    if summary.served is not None:
        figures |= {f"served prompts {task}": count for task, count in summary.served.items()}
    return figures | {f"warning {number}": text for number, text in enumerate(summary.warnings, start=1)}


def served_prompts(session: Session) -> Path | None:
    """Return the table of the prompts of `synthesize.logs`; None where no logs are configured."""
    synthesize = session.config.synthesize
    if synthesize.logs is None:
        return None
    tables, name = session.config.state.root / SERVED_PROMPTS_FOLDER, _name_of_table(session.config)
    for expired in tables.glob("*.parquet"):
        if expired.stat().st_mtime < time.time() - SECONDS_KEPT:
            expired.unlink(missing_ok=True)
    table = tables / f"{name}-{session.fresh}.parquet" if session.fresh else tables / f"{name}.parquet"
    if table.is_file():
        table.touch()
        return table
    if not synthesize.logs.exists():
        warn(f"nothing is logged in {synthesize.logs} yet", "synthesize")
    tables.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = table.with_suffix(".draft")
    write_served_prompts(synthesize.logs, synthesize.counts, draft)
    draft.replace(table)
    return table


def release_served_prompts(config: Config) -> None:
    """Remove the prompts of a run that came to its end: the next one reads the logs again."""
    for table in (config.state.root / SERVED_PROMPTS_FOLDER).glob(f"{_name_of_table(config)}*.parquet"):
        table.unlink(missing_ok=True)


def _name_of_table(config: Config) -> str:
    return config_digest(config.synthesize.model_dump(mode="json"))


TOKENIZER_FILES: Final = {".json", ".txt", ".jinja", ".model"}
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
        config_digest=config_digest(_curate_inputs(config)),
        inputs={"prompts": prompts.record},
        work=work,
        summary=_dataset_figures,
        reports=("README.md", SUMMARY_FILE),
    )


def _curate_inputs(config: Config) -> dict[str, Any]:
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
    """Identify the tokenizer that measures prompts: a folder by content, a hub's model by name and revision."""
    if policy.stand_in:
        return digests()
    files = [file for file in sorted(Path(policy.name).glob("*")) if file.suffix in TOKENIZER_FILES]
    where: object = file_digests(files) if files else [policy.name, policy.revision]
    return [where, given_template(policy), policy.chat_template_kwargs]


def _dataset_figures(folder: Path) -> Mapping[str, Any]:
    summary = DatasetSummary.read(folder)
    figures = {**summary.rows, "quarantined": summary.quarantined}
    for reason, tasks in summary.reasons.items():
        figures |= {f"{reason}: {task}": count for task, count in tasks.items()}
    figures |= {f"references by people: {task}": by["test"] for task, by in summary.references_by_people.items()}
    return figures | {f"replaced: {kind}": count for kind, count in summary.scrubbed.items() if count}
