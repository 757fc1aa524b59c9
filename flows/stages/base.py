"""Flow `base`: the model that training starts from."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flows.runtime.console import warn
from flows.runtime.prefect_run import stage_flow
from flows.runtime.session import work_folder
from flows.runtime.stores import open_store
from flows.stages.child_pool import ChildPool
from flows.stages.runner import Stage, StageResult, config_digest, run_stage
from flows.stages.stage_child import run_stage_child
from schemas.artifact import ArtifactRecord, Origin
from schemas.config.config import Config
from schemas.config.policy import PolicyConfig, WarmStartConfig
from schemas.progress import Progress
from schemas.tables.instructions import GENERAL_FILE
from schemas.tables.prompts import TRAIN_FILE, read_prompt_table
from tasks.lineage.mlflow.recorder import StageRun
from tasks.policy.published import PUBLISHED_FILE, given_template
from tasks.policy.stand_in import digests
from tasks.train.sft.warm_start import SUMMARY_FILE, WarmStartRequest


@stage_flow("base")
def base(config: Config, pipeline_run: str, dataset: StageResult, *, fresh: bool = False) -> StageResult:
    """Fetch the published model, or the shipped stand-in, and give it its warm start."""
    return _make("base", config, pipeline_run, dataset, fresh=fresh)


def published(
    config: Config, pipeline_run: str, dataset: StageResult, base: StageResult, *, fresh: bool = False
) -> StageResult | None:
    """Fetch the model as it was before its warm start; None without a warm start.

    Nothing is trained on it. It answers the test split, so that the effects of warm start and training can be
    separated. It is of the commit that the base was made of, even if the hub's branch has moved since.
    """
    if not config.warm_start.steps:
        return None
    commit = json.loads((base.path / PUBLISHED_FILE).read_text(encoding="utf-8"))["commit"]
    policy = config.policy.model_copy(update={"revision": commit}) if commit else config.policy
    without = config.model_copy(update={"policy": policy, "warm_start": WarmStartConfig(steps=0)})
    return _make("published", without, pipeline_run, dataset, fresh=fresh)


def tuned_on_references(
    config: Config,
    pipeline_run: str,
    dataset: StageResult,
    base: StageResult,
    pool: ChildPool | None,
    *,
    fresh: bool = False,
) -> StageResult:
    """Fine-tune the base on as many reference answers as the training samples completions: the rung `sft`.

    Runs in a pool's thread, if any is given.
    """
    recipe, tuning = config.train, config.evaluate.sft
    prompts = read_prompt_table(dataset.path / TRAIN_FILE).height
    warm_start = WarmStartConfig(
        steps=tuning.steps(recipe.sampled_completions, prompts),
        batch_size=tuning.batch_size,
        accumulation=tuning.accumulation,
        learning_rate=tuning.learning_rate,
        lora=recipe.lora,
        load_in_4bit=recipe.load_in_4bit,
    )
    tuned = config.model_copy(update={"warm_start": warm_start})
    return _make("sft", tuned, pipeline_run, dataset, further=base.record, pool=pool, fresh=fresh)


def _make(
    name: str,
    config: Config,
    pipeline_run: str,
    dataset: StageResult,
    *,
    further: ArtifactRecord | None = None,
    pool: ChildPool | None = None,
    fresh: bool,
) -> StageResult:
    """Make a base of the configured policy, or of another base that learns further.

    A base that learns further has its own chat template, and the policy's settings do not decide it.
    """
    read = {} if further is None else {"base": further}
    read["dataset"] = dataset.record
    decides = (policy_values(config.policy),) if further is None else ()

    def work(output: Path, progress: Progress, mlflow_run: StageRun) -> Origin:
        if name == "base" and not config.warm_start.steps and (dataset.path / GENERAL_FILE).exists():
            warn("warm_start.steps is 0, so the general instructions are not used", "base")
        request = WarmStartRequest(
            policy=config.policy,
            base=None if further is None else open_store(config).path(further.sha256),
            chat_template=given_template(config.policy) if further is None else None,
            warm_start=config.warm_start,
            recipe=config.train,
            gradient_checkpointing=config.train.gradient_checkpointing != "none",
            seed=config.seed,
            dataset=dataset.path,
            output=output,
        )
        return run_stage_child(
            config,
            stage,
            "tasks.train.sft.warm_start",
            request,
            work_folder(config, name),
            reads=[*read.values()],
            output=output,
            progress=progress,
            metrics=mlflow_run.log_step,
            fresh=fresh,
            pool=pool,
        )

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
    return run_stage(stage, config, pipeline_run, fresh=fresh)


def policy_values(policy: PolicyConfig) -> dict[str, Any]:
    """Return the settings that decide a policy; a chat template and the stand-in count by content, not by file.

    Raises:
        InputError: The chat template cannot be read, or the stand-in is missing or altered.
    """
    values = policy.model_dump(mode="json") | {"chat_template": given_template(policy)}
    return values | ({"stand_in_files": digests()} if policy.stand_in else {})


def _figures(folder: Path) -> Mapping[str, Any]:
    file = folder / SUMMARY_FILE
    if not file.exists():
        return {"model": "as published"}
    summary = json.loads(file.read_text(encoding="utf-8"))
    losses = [entry["loss"] for entry in summary["log"]]
    return {
        "parameters": summary["parameters"],
        "demonstrations": summary["demonstrations"],
        "general": summary["general"],
        "first loss": losses[0],
        "last loss": losses[-1],
    }
