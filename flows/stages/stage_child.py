"""Child process of a stage that needs weights: run here, or by the deployment that the configuration names.

A request names folders of this machine. In transit each of its paths is replaced by the artifact, the output or the
work folder that it leads into, and on the other machine by that machine's own.
"""

import os
import platform
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, Final, Literal, cast

from prefect.runtime import flow_run
from pydantic import BaseModel, RootModel

from flows.runtime.console import say
from flows.stages.remote import RemoteAnswer, RemoteRequest, open_shared, refuse_other_code, run_remotely
from flows.stages.runner import Session, Stage, StageResult, watched
from schemas.artifact import ArtifactKind, Origin, Worker
from schemas.config.config import Config
from schemas.errors import InputError
from schemas.progress import Progress
from schemas.source import source_digest
from tasks.policy.child import Metrics, expect_children, run_child

ChildModule = Literal[
    "tasks.train.sft.warm_start", "tasks.audit.rollouts", "tasks.evaluate.answers.answer", "tasks.policy.merge_child"
]
"""Modules that may be run for other machines."""
OUTPUT: Final = "output"
WORK: Final = "work"


class ChildRequest(RemoteRequest):
    """Request to run a child process on another machine."""

    what: ClassVar = "inference"

    kind: ArtifactKind
    """Kind of the artifact that the stage makes."""
    module: ChildModule
    """The module to run."""
    request: dict[str, Any]
    """The module's request, with places instead of folders (`as_portable`)."""
    sources: tuple[str, ...]
    """The stage's entry modules."""
    code_version: str
    """Digest of their code; the other machine's must be equal."""
    config_digest: str
    """Digest of the configuration that the stage reads."""


def expect_stage_children(config: Config) -> None:
    """Let the libraries of this run's children load while it does other work, where they run here."""
    if config.workers.for_inference is None and config.train.interpreter is None:
        expect_children()


def run_stage_child(
    session: Session,
    stage: Stage,
    request: BaseModel,
    folder: Path,
    output: Path,
    progress: Progress,
    metrics: Metrics | None = None,
) -> Origin:
    """Run the child process of a stage's first entry module, and return its worker.

    The request's paths lead into the stage's inputs, the output and the folder, where the child works. It is one of the
    session's pool, or of the deployment that the configuration names: then its metrics arrive when it has ended.
    """
    deployment = session.config.workers.for_inference
    if deployment is not None:
        answer = _run_elsewhere(session, deployment, stage, request, folder, output)
        for step, values in answer.metrics if metrics is not None else ():
            cast("Metrics", metrics)(step, values)
        return Origin(worker=answer.worker)
    run = run_child if session.pool is None else session.pool.run_child
    interpreter = session.config.train.interpreter
    device = run(stage.sources[0], request, folder, interpreter=interpreter, progress=progress, metrics=metrics)
    return Origin(worker=this_worker(device))


def this_worker(device: str | None) -> Worker:
    """Return this machine as the worker of what was made on a device."""
    return Worker(machine=platform.node(), device=device, prefect_run_id=flow_run.get_id())


def batches_folder(session: Session, name: str, stage: Stage) -> Path:
    """Return the folder of what children have finished: one per stage key, and one per run that makes all again."""
    of_key = f"{name}-{stage.key[:16]}"
    return session.folder(f"{of_key}-{session.fresh}" if session.fresh else of_key)


def _run_elsewhere(
    session: Session, deployment: str, stage: Stage, request: BaseModel, folder: Path, output: Path
) -> RemoteAnswer:
    shared, store = open_shared(session.config), session.store
    reads = {record.sha256 for record in (*stage.inputs.values(), *stage.order_only_inputs.values())}
    places = {sha256: store.path(sha256) for sha256 in sorted(reads)}
    child = ChildRequest(
        stage=stage.name,
        artifacts={sha256: sha256 for sha256 in places},
        fresh=session.fresh,
        kind=stage.kind,
        module=cast("ChildModule", stage.sources[0]),
        request=as_portable(request.model_dump(), {**places, OUTPUT: output, WORK: folder}),
        sources=stage.sources,
        code_version=stage.code_version,
        config_digest=stage.config_digest,
    )

    def fetch(answer: RemoteAnswer) -> RemoteAnswer:
        # On the output's own disk, so that its files are moved, not copied.
        fetched = folder / "fetched"
        shutil.rmtree(fetched, ignore_errors=True)
        fetched.mkdir(parents=True)
        shared.pull(answer.artifacts[OUTPUT], fetched)
        shutil.copytree(fetched, output, copy_function=os.replace, dirs_exist_ok=True)
        shutil.rmtree(fetched)
        return answer

    answer, _ = run_remotely(session, deployment, child, fetch)
    worker = cast("Worker", answer.worker)
    say(f"{stage.name}: made by {deployment} on {worker.machine} ({worker.device or 'no device'})")
    return answer


def run_for_another(session: Session, child: ChildRequest, given: Mapping[str, StageResult]) -> RemoteAnswer:
    """Run a child process that another machine requests, and keep its output as an artifact.

    Finished batches are used again on the same disk; with a Spot machine's disk they are lost, and drawn once more.
    """
    refuse_other_code(asked=child.code_version, here=source_digest(*child.sources))
    folder, store = work_for_another(session, child), session.store
    metrics: list[tuple[int, dict[str, float]]] = []
    with store.draft() as output, watched(child.stage) as progress:
        places = {sha256: result.path for sha256, result in given.items()} | {OUTPUT: output, WORK: folder}
        device = run_child(
            child.module,
            RootModel[dict[str, Any]](as_local(child.request, places)),
            folder,
            interpreter=session.config.train.interpreter,
            progress=progress,
            metrics=lambda step, values: metrics.append((step, values)),
        )
        worker = this_worker(device)
        record = store.commit(
            output,
            kind=child.kind,
            stage=child.stage,
            code_version=child.code_version,
            config_digest=child.config_digest,
            inputs={result.record.kind: sha256 for sha256, result in given.items()},
            prefect_run_id=worker.prefect_run_id,
            worker=worker,
        )
    return RemoteAnswer(artifacts={OUTPUT: record.sha256}, worker=worker, metrics=tuple(metrics))


def work_for_another(session: Session, child: ChildRequest) -> Path:
    """Return the folder in which a child works for another machine."""
    return session.folder(f"inference-{child.name[:16]}")


def as_portable(values: Any, places: Mapping[str, Path]) -> Any:
    """Return a request's values with each path into a place as `{"place": NAME, "path": RELATIVE}`."""
    if isinstance(values, dict):
        return {key: as_portable(value, places) for key, value in values.items()}
    if isinstance(values, list | tuple):
        return [as_portable(value, places) for value in values]
    if not isinstance(values, Path):
        return values
    for name, folder in places.items():
        if values.is_relative_to(folder):
            return {"place": name, "path": values.relative_to(folder).as_posix()}
    return str(values)


def as_local(values: Any, places: Mapping[str, Path]) -> Any:
    """Return a request's values with this machine's paths: the inverse of `as_portable`."""
    if isinstance(values, list):
        return [as_local(value, places) for value in values]
    if not isinstance(values, dict):
        return values
    if values.keys() != {"place", "path"}:
        return {key: as_local(value, places) for key, value in values.items()}
    path = PurePosixPath(values["path"])
    if values["place"] not in places or path.is_absolute() or ".." in path.parts:
        raise InputError(
            f"the request names {values['path']!r} of {values['place']!r}, which is no folder of its own; give "
            "both machines the same version, and run the same command again"
        )
    return str(places[values["place"]] / path)
