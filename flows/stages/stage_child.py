"""Child process of a stage that needs weights."""

import platform
from pathlib import Path

from prefect.runtime import flow_run
from pydantic import BaseModel

from flows.stages.runner import Session, Stage
from schemas.artifact import Origin, Worker
from schemas.config.config import Config
from schemas.progress import Progress
from tasks.policy.child import Metrics, expect_children, run_child


def expect_stage_children(config: Config) -> None:
    """Let the libraries of this run's children load while it does other work, where they run here."""
    if config.workers.for_inference is None and config.train.interpreter is None:
        expect_children()


def run_stage_child(
    session: Session,
    stage: Stage,
    request: BaseModel,
    folder: Path,
    progress: Progress,
    metrics: Metrics | None = None,
) -> Origin:
    """Run the child process of a stage's first entry module, one of the session's pool, and return its worker."""
    run = run_child if session.pool is None else session.pool.run_child
    interpreter = session.config.train.interpreter
    device = run(stage.sources[0], request, folder, interpreter=interpreter, progress=progress, metrics=metrics)
    return Origin(worker=this_worker(device))


def this_worker(device: str | None) -> Worker:
    """Return this machine as the worker of what was made on a device."""
    return Worker(machine=platform.node(), device=device, prefect_run_id=flow_run.get_id())


def batches_folder(session: Session, stage: Stage) -> Path:
    """Return the folder of what children have finished: one per stage, and one per run that makes all again."""
    of_stage = f"{stage.name}-{stage.key[:16]}"
    return session.folder(f"{of_stage}-{session.fresh}" if session.fresh else of_stage)
