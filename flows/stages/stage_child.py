"""Child process of a stage that needs weights: run here, or by the deployment that the configuration names."""

import platform
from collections.abc import Sequence
from pathlib import Path

from prefect.runtime import flow_run
from pydantic import BaseModel

from flows.runtime.session import work_folder
from flows.stages.child_pool import ChildPool
from flows.stages.remote_child import run_child_remotely
from flows.stages.runner import Stage
from schemas.artifact import ArtifactRecord, Origin, Worker
from schemas.config.config import Config
from schemas.progress import Progress
from tasks.policy.child import Metrics, expect_children, run_child


def expect_stage_children(config: Config) -> None:
    """Let the libraries of this run's children load while it does other work, where they run here."""
    if config.workers.for_inference is None and config.train.interpreter is None:
        expect_children()


def run_stage_child(
    config: Config,
    stage: Stage,
    module: str,
    request: BaseModel,
    folder: Path,
    *,
    reads: Sequence[ArtifactRecord],
    output: Path,
    progress: Progress,
    metrics: Metrics | None = None,
    fresh: bool = False,
    pool: ChildPool | None = None,
) -> Origin:
    """Run a stage's child process, and return its worker.

    Args:
        config: The run's configuration.
        stage: The stage.
        module: As of `run_child`.
        request: As of `run_child`. Its paths lead into what the child reads, the output and the folder.
        folder: As of `run_child`. What an interrupted child left there is used only on the machine that has it.
        reads: The artifacts that the child reads.
        output: Where the child writes what the stage keeps.
        progress: As of `run_child`.
        metrics: As of `run_child`; another machine's arrive when it has ended.
        fresh: Do not reuse another machine's result of the same request.
        pool: Runs it among others; None: it runs in this thread, alone.

    Raises:
        TucanoError: The child failed, with its own sentence and exit code, or was killed; or no machine could run it.
    """
    deployment = config.workers.for_inference
    if deployment is not None:
        return run_child_remotely(
            config, deployment, stage, module, request, folder, reads, output, metrics=metrics, fresh=fresh
        )
    run = run_child if pool is None else pool.run_child
    device = run(module, request, folder, interpreter=config.train.interpreter, progress=progress, metrics=metrics)
    return Origin(worker=Worker(machine=platform.node(), device=device, prefect_run_id=flow_run.get_id()))


def batches_folder(config: Config, name: str, stage: Stage, *, fresh: bool) -> Path:
    """Return the folder of what children have finished: one per stage key, and with `fresh` one per run.

    Args:
        config: The run's configuration.
        name: Beginning of the folder's name.
        stage: The stage.
        fresh: Whether this run makes it again.
    """
    of_key = f"{name}-{stage.key[:16]}"
    return work_folder(config, f"{of_key}-{flow_run.root_flow_run_id}" if fresh else of_key)
