"""Stage `merge`: policy and base as one model, which answers the test split and is served after a promotion."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flows.runtime.session import work_folder
from flows.runtime.stores import open_store
from flows.stages.runner import Stage, StageResult, config_digest, run_stage
from flows.stages.stage_child import run_stage_child
from schemas.artifact import ArtifactRecord, Origin
from schemas.config.config import Config
from schemas.progress import Progress
from tasks.lineage.mlflow.recorder import StageRun
from tasks.policy.adapters import ADAPTER_FOLDER
from tasks.policy.merge_child import MergeRequest, read_check

STAGE = "merge"
MODULE = "tasks.policy.merge_child"


def merge(
    config: Config,
    pipeline_run: str,
    base: ArtifactRecord,
    policy: ArtifactRecord,
    dataset: StageResult,
    *,
    name: str = STAGE,
    fresh: bool = False,
) -> StageResult | None:
    """Merge a policy's adapter into its base, which is not quantized, or reuse an earlier merge.

    The dataset's validation prompts check the merged model; they do not decide its weights.

    Args:
        config: The run's configuration.
        pipeline_run: MLflow's run of which this is a stage.
        base: The base that the policy was trained on.
        policy: The policy.
        dataset: Any dataset with prompts of the policy's tasks.
        name: The stage's name, for people.
        fresh: Merge again.

    Returns:
        None where each task has an adapter of its own: six copies of a base fit on no disk, so the adapters are served.
    """
    store = open_store(config)
    adapter = store.path(policy.sha256) / ADAPTER_FOLDER
    if not adapter.is_dir():
        return None

    def work(output: Path, progress: Progress, _: StageRun) -> Origin:
        return run_stage_child(
            config,
            stage,
            MODULE,
            MergeRequest(base=store.path(base.sha256), adapter=adapter, dataset=dataset.path, output=output),
            work_folder(config, STAGE),
            reads=[base, policy, dataset.record],
            output=output,
            progress=progress,
            fresh=fresh,
        )

    stage = Stage(
        name=name,
        # A policy's weights are the same whatever its role in the comparison.
        cache_name=STAGE,
        kind="merged",
        sources=(MODULE,),
        config_digest=config_digest(),
        inputs={"base": base, "policy": policy},
        order_only_inputs={"dataset": dataset.record},
        work=work,
        summary=_figures,
    )
    return run_stage(stage, config, pipeline_run, fresh=fresh)


def _figures(folder: Path) -> Mapping[str, Any]:
    return read_check(folder).model_dump()
