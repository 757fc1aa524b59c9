"""Models that others are made of: the base of a training, that model as published, the rung `sft`, a merged policy."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from flows.runtime.console import warn
from flows.runtime.run_page import stage_flow
from flows.stages.remote import run_with_weights
from flows.stages.runner import Session, Stage, StageResult, config_digest
from schemas.artifact import ArtifactRecord, Origin
from schemas.config.policy import WarmStartConfig
from schemas.progress import Progress
from schemas.tables.instructions import GENERAL_FILE
from schemas.tables.prompts import TRAIN_FILE, read_prompt_table
from tasks.lineage.mlflow.recorder import StageRun
from tasks.policy.adapters import ADAPTER_FOLDER
from tasks.policy.merge import MergeRequest, read_check
from tasks.policy.published import PUBLISHED_FILE, given_template
from tasks.policy.stand_in import digests
from tasks.train.sft.warm_start import SUMMARY_FILE, WarmStartRequest

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
    warm_start = WarmStartConfig(
        steps=tuning.steps(recipe.sampled_completions, prompts),
        batch_size=tuning.batch_size,
        accumulation=tuning.accumulation,
        learning_rate=tuning.learning_rate,
        lora=recipe.lora,
        load_in_4bit=recipe.load_in_4bit,
    )
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
        summary=_figures,
    )
    return run_with_weights(stage, session, "model", read, name=name)


def merge(
    session: Session, base: ArtifactRecord, policy: ArtifactRecord, dataset: StageResult, *, name: str = MERGE
) -> StageResult | None:
    """Merge a policy's adapter into its base, not quantized, and check it by the dataset's validation prompts."""
    store = session.store
    adapter = store.path(policy.sha256) / ADAPTER_FOLDER
    if not adapter.is_dir():
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
    return run_with_weights(stage, session, "merge", {**stage.inputs, "dataset": dataset.record}, name=name)


def _figures(folder: Path) -> Mapping[str, Any]:
    file = folder / SUMMARY_FILE
    if not file.exists():
        return {"model": "as published"}
    summary = json.loads(file.read_text(encoding="utf-8"))
    losses = [entry["loss"] for entry in summary["log"]]
    known = {name: summary[name] for name in ("parameters", "demonstrations", "general")}
    return {**known, "first loss": losses[0], "last loss": losses[-1]}
