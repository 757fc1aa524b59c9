"""Flow `inference`: the deployment on the GPU machine that runs stages of a retraining elsewhere."""

import platform
import shutil
from typing import Any

from prefect import flow
from prefect.runtime import flow_run
from pydantic import RootModel

from flows.runtime.console import say, warn
from flows.runtime.deployed import deployed, run_name
from flows.runtime.session import work_folder
from flows.runtime.stores import open_store
from flows.stages.remote_child import OUTPUT, WORK, ChildAnswer, RemoteChild, as_local, read_answer
from flows.stages.remote_run import fetch, open_shared
from flows.stages.runner import watched
from schemas.artifact import Worker
from schemas.config.config import Config
from schemas.errors import InputError
from schemas.source import source_digest
from tasks.checkpoints.shared_artifacts import NotShared, SharedArtifacts
from tasks.lineage.store.artifacts import ArtifactDamaged, ArtifactStore
from tasks.policy.child import run_child


def _run_name() -> str:
    """Name a run by the stage that it is for, the day and the seed."""
    child: RemoteChild | None = flow_run.parameters["child"]
    return run_name("inference" if child is None else f"inference-{child.stage}")


@flow(name="inference", flow_run_name=_run_name)
def inference(config: Config, child: RemoteChild | None = None) -> None:
    """Run the child process of a stage of a retraining on another machine, and leave its output for it.

    Interrupted, it is scheduled again. Batches of answers that were finished are used again on the same disk; with a
    Spot machine's disk they are lost, and drawn once more.

    Args:
        config: With what state it is run.
        child: The retraining's request, by way of `state.artifacts`.

    Raises:
        InputError: There is no request, or this worker's code is another than that of the run which waits for it.
    """
    if child is None:
        raise InputError(
            "there is no request to infer; start `retrain/retrain`, with until=evaluate where no promotion is "
            "wanted, which requests what needs weights and runs this deployment"
        )
    with deployed(config):
        _infer(config, child)


def _infer(config: Config, child: RemoteChild) -> None:
    shared, store = open_shared(config), open_store(config)
    store.clean_drafts()
    if _is_left_again(child, shared, store):
        say(f"{child.stage}: the output of the inference {child.name[:12]} is there already")
        return
    if source_digest(*child.sources) != child.code_version:
        raise InputError(
            "this worker would not infer what is asked for: its code is another than that of the run which waits for "
            "it; give both machines the same version, and run that one again"
        )
    places = {sha256: fetch(sha256, shared, store).path for sha256 in child.artifacts}
    folder = work_folder(config, f"inference-{child.name[:16]}")
    metrics: list[tuple[int, dict[str, float]]] = []
    with store.draft() as output, watched(child.stage) as progress:
        request = as_local(child.request, {**places, OUTPUT: output, WORK: folder})
        device = run_child(
            child.module,
            RootModel[dict[str, Any]](request),
            folder,
            interpreter=config.train.interpreter,
            progress=progress,
            metrics=lambda step, values: metrics.append((step, values)),
        )
        worker = Worker(machine=platform.node(), device=device, prefect_run_id=flow_run.get_id())
        record = store.commit(
            output,
            kind=child.kind,
            stage=child.stage,
            code_version=child.code_version,
            config_digest=child.config_digest,
            inputs={store.record(sha256).kind: sha256 for sha256 in child.artifacts},
            prefect_run_id=worker.prefect_run_id,
            worker=worker,
        )
    answer = ChildAnswer(sha256=record.sha256, worker=worker, metrics=tuple(metrics))
    _leave(child, answer, shared, store)
    shutil.rmtree(folder)


def _is_left_again(child: RemoteChild, shared: SharedArtifacts, store: ArtifactStore) -> bool:
    """Share the result of the same request again, where this machine or the store still has it whole."""
    answer = read_answer(child, shared)
    if answer is None:
        return False
    try:
        fetch(answer.sha256, shared, store)
    except (NotShared, ArtifactDamaged) as error:
        warn(f"{error}; it is made again", child.stage)
        return False
    _leave(child, answer, shared, store)
    return True


def _leave(child: RemoteChild, answer: ChildAnswer, shared: SharedArtifacts, store: ArtifactStore) -> None:
    shared.push(store.record(answer.sha256), store.path(answer.sha256))
    shared.leave(child.note, answer.model_dump_json().encode())
