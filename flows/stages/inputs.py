"""Flows `synthesize`, `curate` and `base`: prompts, one dataset and the base of a training; and models made of a base.

Prompts may come from a served model's logs. A gateway logs on while a model is trained, and a run that resumed with
what was logged meanwhile would start from the beginning. So a run's prompts are kept in the state folder until it came
to its end, for their owner alone, as the logs are.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from flows.runtime.console import warn
from flows.runtime.runs import stage_flow
from flows.runtime.session import own_files
from flows.stages.remote import placed
from flows.stages.runner import Session, Stage, StageResult, Work, config_digest, run_stage
from schemas.artifact import ArtifactRecord, Origin
from schemas.config.config import Config, SynthesizeConfig
from schemas.config.train_sections import PolicyConfig, WarmStartConfig
from schemas.progress import Progress
from schemas.tables.prompts import GENERAL_FILE, TRAIN_FILE, read_prompt_table
from schemas.tables.summaries import SUMMARY_FILE, DatasetSummary, PromptsSummary
from tasks.curate import stage as curate_stage
from tasks.curate.processes import in_processes
from tasks.lineage.mlflow.recorder import StageRun
from tasks.lineage.store.artifacts import file_digests
from tasks.policy.load import ADAPTER_FOLDER
from tasks.policy.merge import MODEL_FOLDER, MergeRequest, read_check
from tasks.policy.published import PUBLISHED_FILE, digests, given_template
from tasks.synthesize import stage as synthesize_stage
from tasks.synthesize.own.opened import OwnFiles
from tasks.synthesize.served_prompts import write_served_prompts
from tasks.train.sft.warm_start import SUMMARY_FILE as WARM_START_FILE
from tasks.train.sft.warm_start import WarmStartRequest

SERVED_PROMPTS_FOLDER: Final = "served-prompts"
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
        summary=lambda folder: {f"prompts {task}": count for task, count in PromptsSummary.read(folder).made.items()},
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
        in_parallel = in_processes(config.curate.workers)
        curate_stage.run(config.curate, config.policy, prompts.path, output, progress, in_parallel)

    return Stage(
        name="curate",
        kind="dataset",
        sources=("tasks.curate.stage",),
        config_digest=config_digest(_curate_inputs(config)),
        inputs={"prompts": prompts.record},
        work=work,
        summary=lambda folder: DatasetSummary.read(folder).rows,
        reports=("README.md", SUMMARY_FILE),
    )


def _curate_inputs(config: Config) -> dict[str, Any]:
    """Return the settings that decide the dataset: files by content; workers not at all."""
    files = {"known_to_base": config.curate.known_to_base, "references": config.curate.references}
    values = config.curate.model_dump(mode="json", exclude={"workers", "shard_rows", "general", *files})
    values |= {name: file_digests([file]) for name, file in files.items() if file is not None}
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


MERGE = "merge"
MODULE = "tasks.policy.merge"


@stage_flow("base")
def base(session: Session, dataset: StageResult) -> StageResult:
    """Fetch the published model, or the shipped stand-in, and give it its warm start."""
    return make_model("base", session, dataset)


def published(session: Session, dataset: StageResult, base: StageResult) -> StageResult | None:
    """Fetch the model as it was before its warm start, the base of the comparison; None without a warm start.

    Nothing is trained on it. It is of the commit that the base was made of, even if the hub's branch has moved since.
    """
    config = session.config
    if not config.warm_start.steps:
        return None
    commit = json.loads((base.path / PUBLISHED_FILE).read_text(encoding="utf-8"))["commit"]
    policy = config.policy.model_copy(update={"revision": commit}) if commit else config.policy
    without = config.model_copy(update={"policy": policy, "warm_start": WarmStartConfig(steps=0)})
    return make_model("published", replace(session, config=without, pool=None), dataset)


def tuned_on_references(session: Session, dataset: StageResult, base: StageResult) -> StageResult:
    """Fine-tune the base on as many reference answers as the training samples completions: the rung `sft`."""
    recipe, tuning = session.config.train, session.config.evaluate.sft
    prompts = read_prompt_table(dataset.path / TRAIN_FILE).height
    asked = tuning.model_dump(include={"batch_size", "accumulation", "learning_rate"})
    steps = tuning.steps(recipe.sampled_completions, prompts)
    warm_start = WarmStartConfig(**asked, steps=steps, lora=recipe.lora, load_in_4bit=recipe.load_in_4bit)
    tuned = session.config.model_copy(update={"warm_start": warm_start})
    return make_model("sft", replace(session, config=tuned), dataset, further=base)


def make_model(name: str, session: Session, dataset: StageResult, *, further: StageResult | None = None) -> StageResult:
    """Make a base of the configured policy, or of another base, with its own chat template, that learns further."""
    config = session.config
    read = {"dataset": dataset.record, **({} if further is None else {"base": further.record})}
    decides: list[dict[str, Any]] = []
    if further is None:
        # A chat template and the stand-in count by content, not by file.
        decides.append(config.policy.model_dump(mode="json") | {"chat_template": given_template(config.policy)})
        decides[0].update({"stand_in_files": digests()} if config.policy.stand_in else {})

    def work(output: Path, progress: Progress, mlflow_run: StageRun) -> Origin:
        if name == "base" and not config.warm_start.steps and (dataset.path / GENERAL_FILE).exists():
            warn("warm_start.steps is 0, so the general instructions are not used", "base")
        request = WarmStartRequest(
            policy=config.policy,
            base=None if further is None else further.path,
            chat_template=given_template(config.policy) if further is None else None,
            warm_start=config.warm_start,
            recipe=config.train,
            gradient_checkpointing=config.train.gradient_checkpointing != "none",
            seed=config.seed,
            dataset=dataset.path,
            output=output,
        )
        return session.run_child(stage, request, session.folder(name), progress, metrics=mlflow_run.log_step)

    stage = Stage(
        name=name,
        # The same model as base and as published.
        cache_name="base" if further is None else None,
        kind="base",
        sources=("tasks.train.sft.warm_start",),
        config_digest=config_digest(config.seed, *decides, config.warm_start.model_dump(mode="json")),
        inputs=read,
        work=work,
        summary=_base_figures,
    )
    return run_stage(placed(stage, session, "model", read, name=name), session)


def merge(
    session: Session, base: ArtifactRecord, policy: ArtifactRecord, dataset: StageResult, *, name: str = MERGE
) -> StageResult | None:
    """Merge a policy's adapter into its base, not quantized, and check it by the dataset's validation prompts."""
    store = session.store
    parts = [store.path(policy.sha256) / name for name in (ADAPTER_FOLDER, MODEL_FOLDER)]
    if (adapter := next((part for part in parts if part.is_dir()), None)) is None:
        return None

    def work(output: Path, progress: Progress, _: StageRun) -> Origin:
        request = MergeRequest(base=store.path(base.sha256), adapter=adapter, dataset=dataset.path, output=output)
        return replace(session, pool=None).run_child(stage, request, session.folder(MERGE), progress)

    stage = Stage(
        name=name,
        # A policy's weights are the same whatever its role in the comparison.
        cache_name=MERGE,
        kind="merged",
        sources=(MODULE,),
        config_digest=config_digest(),
        inputs={"base": base, "policy": policy},
        order_only_inputs={"dataset": dataset.record},
        work=work,
        summary=lambda folder: read_check(folder).model_dump(),
    )
    given = {**stage.inputs, "dataset": dataset.record}
    return run_stage(placed(stage, session, "merge", given, name=name), session)


def _base_figures(folder: Path) -> Mapping[str, Any]:
    file = folder / WARM_START_FILE
    if not file.exists():
        return {"model": "as published"}
    summary = json.loads(file.read_text(encoding="utf-8"))
    known = {name: summary[name] for name in ("parameters", "demonstrations", "general")}
    return {**known, "first loss": summary["log"][0]["loss"], "last loss": summary["log"][-1]["loss"]}
