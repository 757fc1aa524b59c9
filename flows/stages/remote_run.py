"""Run of a deployment on another machine: start or attach, wait, and cancel with the run that waits.

Requesting the same work twice gives the run under way: an interrupted run of the chain that resumes attaches to it
again.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast
from uuid import UUID

import httpx
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterTags
from prefect.client.schemas.objects import FlowRun
from prefect.client.schemas.sorting import FlowRunSort
from prefect.deployments import run_deployment
from prefect.exceptions import ObjectNotFound, PrefectException, TerminationSignal
from prefect.logging import get_run_logger
from prefect.runtime import flow_run
from prefect.states import Cancelling

from flows.runtime.absolute_config import absolute_address, absolute_config
from flows.runtime.console import say, warn
from flows.runtime.prefect_client import has_worker
from flows.runtime.session import mirror_address, mlflow_store
from flows.stages.runner import StageResult
from schemas.config.config import Config
from schemas.errors import InputError, Interrupted, TucanoError
from tasks.checkpoints.shared_artifacts import SharedArtifacts
from tasks.lineage.store.artifacts import ArtifactDamaged, ArtifactStore

SECONDS_BETWEEN_LOOKS: Final = 5.0
SECONDS_OF_SILENCE: Final = 900.0
"""How long Prefect's server may be unreachable during a run: long enough for an upgrade."""
TIME_TO_COME_BACK: Final = timedelta(minutes=5)
"""Time for a crashed run to be restarted: the automations need seconds, and the server may be busy."""
REMOTE_FOLDER: Final = "trainer"
"""Folder of the state for work done for other machines, even if that is this machine."""


@dataclass(frozen=True)
class RemoteRun:
    """Work for another machine."""

    what: str
    """A noun for it in messages, `training` or `inference`; `workers.WHAT` names its deployment."""
    stage: str
    """The stage that waits for it."""
    deployment: str
    """The deployment that does the work, as FLOW/DEPLOYMENT."""
    name: str
    """A sha256: equal names mean the same work."""
    when_repeated: str
    """Effect of requesting it again after it ended without success."""


def run_remotely(config: Config, run: RemoteRun, parameters: Mapping[str, Any]) -> None:
    """Run a deployment until it has done its work, or attach to its run for the same work.

    Args:
        config: Of the run that waits; the deployment gets it with a state folder of its own, and runs nothing remotely.
        run: The work.
        parameters: The deployment's other parameters, JSON-like.

    Raises:
        InputError: There is no such deployment, or its run was deleted.
        Interrupted: Prefect's server went away.
        TucanoError: The run failed.
    """
    _warn_of_no_worker(run)
    tag = f"{run.what}-{run.name[:16]}"
    say(f"{run.stage}: runs on {run.deployment}")
    earlier = _runs_with(tag)
    started = next((each for each in earlier if not has_ended(each)), None) or run_deployment(
        run.deployment,
        parameters={"config": _remote_config(config).model_dump(mode="json"), **parameters},
        # Two that request it at once get one run; after an ended run, a request is another attempt.
        idempotency_key=f"{run.name}-{earlier[0].id if earlier else 'first'}",
        timeout=0,
        tags=[tag],
    )
    ended = wait_for(cast("FlowRun", started).id, run)
    if ended.state is None or not ended.state.is_completed():
        message = ended.state.message if ended.state is not None else "it has no state"
        raise TucanoError(
            f"the {run.what} on {run.deployment} ended as {ended.state_name}: {message}; see the run "
            f"{ended.name}, and run the same command again: {run.when_repeated}"
        )


def open_shared(config: Config) -> SharedArtifacts:
    """Open the store through which machines share artifacts."""
    return SharedArtifacts(str(absolute_address(config.state.artifacts)))


def fetch(sha256: str, shared: SharedArtifacts, store: ArtifactStore) -> StageResult:
    """Return an artifact of another machine, copied into the store unless it is there whole.

    Raises:
        NotShared: The shared store does not have it whole either.
    """
    try:
        store.verify(sha256)
    except ArtifactDamaged:
        with store.draft() as draft:
            store.adopt(draft, shared.pull(sha256, draft))
    return StageResult(store.record(sha256), store.path(sha256), 0.0, reused=True)


def _remote_config(config: Config) -> Config:
    uri, _ = mlflow_store(config.state)
    mirror = absolute_address(mirror_address(config))
    elsewhere = {"root": config.state.root.resolve() / REMOTE_FOLDER, "mirror": mirror, "mlflow": uri}
    absolute = absolute_config(config)
    return absolute.model_copy(
        update={
            "state": absolute.state.model_copy(update=elsewhere),
            "workers": absolute.workers.model_copy(update={"training": None, "inference": None}),
        }
    )


def _runs_with(tag: str) -> list[FlowRun]:
    """Return the runs of the same work, the newest first."""
    same = FlowRunFilter(tags=FlowRunFilterTags(all_=[tag]))
    with get_client(sync_client=True) as client:
        return client.read_flow_runs(flow_run_filter=same, sort=FlowRunSort.EXPECTED_START_TIME_DESC)


def wait_for(run_id: UUID, run: RemoteRun) -> FlowRun:
    """Return a run once it has ended.

    Raises:
        InputError: It was deleted.
        Interrupted: Prefect's server went away.
    """
    answered = time.monotonic()
    try:
        while True:
            try:
                with get_client(sync_client=True) as client:
                    found = client.read_flow_run(run_id)
            except ObjectNotFound:
                raise InputError(
                    f"the {run.what}'s run {run_id} was deleted on Prefect's server; run the same command again, and "
                    f"{run.when_repeated}"
                ) from None
            # The last is raised for a page of a proxy in place of JSON.
            except (httpx.HTTPError, PrefectException, ValueError) as error:
                if time.monotonic() - answered > SECONDS_OF_SILENCE:
                    raise Interrupted(
                        f"Prefect's server does not answer ({type(error).__name__}) while the {run.what} is waited "
                        f"for; start it, and run the same command again: the {run.what} is attached to"
                    ) from None
            else:
                answered = time.monotonic()
                if has_ended(found):
                    return found
            time.sleep(SECONDS_BETWEEN_LOOKS)
    except TerminationSignal:
        _cancel_with_us(run_id)
        raise


def _cancel_with_us(run_id: UUID) -> None:
    """Cancel a run if the run that waits is cancelled; an interrupted one attaches to it again."""
    with get_client(sync_client=True) as client:
        ours = client.read_flow_run(flow_run.id).state
        if ours is not None and (ours.is_cancelling() or ours.is_cancelled()):
            client.set_flow_run_state(run_id, Cancelling(message="the run that waits for it was cancelled"))


def has_ended(run: FlowRun) -> bool:
    """Return whether a run has ended for good: a crashed run is soon restarted, where that can help."""
    if run.state is None or not run.state.is_final():
        return False
    return not run.state.is_crashed() or datetime.now(UTC) - run.state.timestamp > TIME_TO_COME_BACK


def _warn_of_no_worker(run: RemoteRun) -> None:
    name, setting = run.deployment, f"workers.{run.what}"
    with get_client(sync_client=True) as client:
        try:
            pool_name = client.read_deployment_by_name(name).work_pool_name
        except ObjectNotFound:
            raise InputError(
                f"Prefect has no deployment {name}, which does the {run.what} by {setting}; make it with `tucano infra "
                "apply`, or leave workers.training and workers.inference out to do all of it here"
            ) from None
        if pool_name is None:
            raise InputError(
                f"the deployment {name}, which does the {run.what} by {setting}, has no work pool any more; bring it "
                "back with `tucano infra apply`"
            )
        pool = client.read_work_pool(pool_name)
        is_served = has_worker(client, pool)
    if pool.is_paused or not is_served:
        why = "is paused" if pool.is_paused else "has no worker online"
        warning = f"the work pool {pool_name} {why}; the {run.what} waits until a worker serves it"
        warn(warning, run.stage)
        get_run_logger().warning(warning)
