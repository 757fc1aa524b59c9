"""Stages made on another machine: share what they read, run a deployment, and fetch what it made.

A retraining hands over a stage that needs weights by a request. Its name says what is to be made, so that an
interrupted run attaches to the work under way, or takes its result. Both machines share one store of artifacts
(`state.artifacts`), in which the worker leaves a note with its answer.
"""

import hashlib
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, cast
from uuid import UUID

import httpx
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterTags
from prefect.client.schemas.objects import FlowRun
from prefect.client.schemas.sorting import FlowRunSort
from prefect.deployments import run_deployment
from prefect.exceptions import ObjectNotFound, PrefectException, TerminationSignal
from prefect.runtime import flow_run
from prefect.states import Cancelling
from pydantic import BaseModel, ConfigDict

from flows.runtime.console import say, warn
from flows.runtime.runs import absolute_address, absolute_config
from flows.runtime.session import mirror_address, mlflow_store, open_store
from flows.stages.runner import Records, Session, Stage, StageResult
from schemas.artifact import ArtifactRecord
from schemas.config.config import Config
from schemas.errors import InputError, Interrupted, TucanoError
from tasks.checkpoints.shared_artifacts import NotShared, SharedArtifacts
from tasks.lineage.store.artifacts import ArtifactDamaged, ArtifactStore

SECONDS_BETWEEN_LOOKS: Final = 5.0
SHA256: Final = re.compile(r"[0-9a-f]{64}")
SECONDS_OF_SILENCE: Final = 900.0
"""Time for which Prefect's server may be unreachable during a run: long enough for an upgrade."""
TIME_TO_COME_BACK: Final = timedelta(minutes=5)
"""Time for a crashed run to be restarted: the automations need seconds, and the server may be busy."""
REMOTE_FOLDER: Final = "trainer"
"""Folder of the state for work done for other machines, even if that is this machine."""
What = Literal["training", "inference"]


class RemoteRequest(BaseModel):
    """Request for a stage that another machine makes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    what: What
    """A noun for the work in messages; `workers.WHAT` names its deployment."""
    stage: str
    function: str
    """Name of the function that makes the stage, among those of `flows/remote.py`."""
    call: dict[str, Any]
    artifacts: dict[str, str]
    stage_key: str
    """The stage's key, which says all that decides its artifact."""
    pipeline_run: str
    fresh: str | None = None
    """The run that wants it made from the start; None: checkpoints and earlier results are used."""

    @property
    def name(self) -> str:
        """The work's name, shared by the machines and Prefect's server: a sha256 of what decides it."""
        return hashlib.sha256(f"{self.stage_key} {self.fresh}".encode()).hexdigest()

    @property
    def note(self) -> str:
        """Name of the note with the answer: the artifact's sha256."""
        return f"{self.what}-{self.name}"


@dataclass(frozen=True)
class Exchange:
    """The store through which machines share artifacts, beside this machine's own."""

    shared: SharedArtifacts
    store: ArtifactStore

    def fetch(self, sha256: str) -> ArtifactRecord:
        """Return an artifact of another machine, copied into this machine's store unless it is there whole."""
        if not self.store.is_whole(sha256):
            with self.store.draft() as draft:
                self.store.adopt(draft, self.shared.pull(sha256, draft))
        return self.store.record(sha256)

    def push(self, sha256s: Iterable[str]) -> None:
        """Share artifacts of this machine."""
        for sha256 in sha256s:
            self.shared.push(self.store.record(sha256), self.store.path(sha256))

    def read(self, request: RemoteRequest) -> ArtifactRecord | None:
        """Return what an answer names; None where the work is still to be done, or its result is not whole."""
        if not (note := (self.shared.note(request.note) or b"").decode(errors="replace")):
            return None
        try:
            if SHA256.fullmatch(note) is None:
                raise ArtifactDamaged(f"the note {request.note} names no artifact")
            return self.fetch(note)
        except (NotShared, ArtifactDamaged) as error:
            warn(f"{error}; it is made again", request.stage)
            return None

    def answer(self, request: RemoteRequest, make: Callable[[], StageResult]) -> None:
        """Do what a request asks for, unless it was done before, and leave the answer with what it names."""
        self.store.clean_drafts()
        if (made := self.read(request)) is not None:
            say(f"{request.stage}: the result of {request.what} {request.name[:12]} is there already")
        else:
            made = make().record
        self.push([made.sha256])
        self.shared.leave(request.note, made.sha256.encode())


def open_shared(config: Config) -> SharedArtifacts:
    """Open the store through which machines share artifacts."""
    return SharedArtifacts(str(absolute_address(config.state.artifacts)))


def open_exchange(config: Config) -> Exchange:
    """Open both stores."""
    return Exchange(open_shared(config), open_store(config))


def placed(
    stage: Stage, session: Session, function: str, given: Records, *, what: What = "inference", **call: Any
) -> Stage:
    """Return a stage as it is run here, or where such work is done, by a function of artifacts by role and the call."""
    config = session.config
    deployment = config.workers.training if what == "training" else config.workers.for_inference
    if deployment is None:
        return stage

    def ask() -> ArtifactRecord:
        if session.fresh is None and (made := _made_before(session, stage)) is not None:
            return made
        request, exchange = request_for(stage, session, function, given, what=what, **call), open_exchange(config)
        if (found := exchange.read(request)) is not None:
            return found
        exchange.push(request.artifacts.values())
        run_deployment_of(config, deployment, request)
        if (found := exchange.read(request)) is None:
            raise TucanoError(
                f"the {what} of {stage.name} is completed, and its result is not in {config.state.artifacts}; see that "
                "both machines use the same place, and run the same command again"
            )
        return found

    return replace(stage, elsewhere=ask)


def request_for(
    stage: Stage, session: Session, function: str, given: Records, *, what: What, **call: Any
) -> RemoteRequest:
    """Return the request for a stage, as another machine makes it; the arguments are those of `placed`."""
    artifacts = {role: record.sha256 for role, record in given.items()}
    made_by: dict[str, Any] = {"function": function, "call": call, "stage_key": stage.key, "artifacts": artifacts}
    return RemoteRequest(what=what, stage=stage.name, **made_by, pipeline_run=session.run, fresh=session.fresh)


def _made_before(session: Session, stage: Stage) -> ArtifactRecord | None:
    """Return the newest whole artifact of a stage that this machine has: of the same code, settings and inputs."""
    made_from = {role: record.sha256 for role, record in stage.inputs.items()}
    roles = stage.inputs.keys() | stage.order_only_inputs.keys()
    for record in session.store.records(stage.kind):
        is_same = (record.code_version, record.config_digest) == (stage.code_version, stage.config_digest)
        # A base's answers and those of an adapter beside it are of one base.
        is_same = is_same and record.inputs.keys() == roles and made_from.items() <= record.inputs.items()
        if is_same and session.store.is_whole(record.sha256):
            return record
    return None


def run_deployment_of(config: Config, deployment: str, request: RemoteRequest) -> None:
    """Run a deployment until it has done its work, or attach to its run for the same work."""
    tag = f"{request.what}-{request.name[:16]}"
    say(f"{request.stage}: runs on {deployment} once a worker takes it")
    with get_client(sync_client=True) as client:
        earlier = client.read_flow_runs(
            flow_run_filter=FlowRunFilter(tags=FlowRunFilterTags(all_=[tag])), sort=FlowRunSort.EXPECTED_START_TIME_DESC
        )
    try:
        started = next((each for each in earlier if not has_ended(each)), None) or run_deployment(
            deployment,
            parameters={
                "config": config_elsewhere(config).model_dump(mode="json"),
                "request": request.model_dump(mode="json"),
            },
            # Two that request it at once get one run; after an ended run, a request is another attempt.
            idempotency_key=f"{request.name}-{earlier[0].id if earlier else 'first'}",
            timeout=0,
            tags=[tag],
        )
    except ObjectNotFound:
        raise InputError(
            f"Prefect has no deployment {deployment}, which workers.{request.what} names; make it with `tucano infra "
            "apply`, or leave workers.training and workers.inference out to do all of it here"
        ) from None
    ended = wait_for(cast("FlowRun", started).id, request)
    if ended.state is None or not ended.state.is_completed():
        message = ended.state.message if ended.state is not None else "it has no state"
        raise TucanoError(
            f"the {request.what} on {deployment} ended as {ended.state_name}: {message}; see the run {ended.name}, and "
            "run the same command again to resume"
        )


def wait_for(run_id: UUID, request: RemoteRequest) -> FlowRun:
    """Return a run once it has ended; it is cancelled if the run that waits is."""
    answered = time.monotonic()
    try:
        while True:
            try:
                with get_client(sync_client=True) as client:
                    found = client.read_flow_run(run_id)
            # The last is raised for a page of a proxy in place of JSON.
            except (httpx.HTTPError, PrefectException, ValueError) as error:
                if time.monotonic() - answered > SECONDS_OF_SILENCE:
                    raise Interrupted(
                        f"Prefect's server says nothing of the {request.what} that is waited for "
                        f"({type(error).__name__}); see that it runs, and run the same command again: the "
                        f"{request.what} is attached to, or started again if somebody deleted it"
                    ) from None
            else:
                answered = time.monotonic()
                if has_ended(found):
                    return found
            time.sleep(SECONDS_BETWEEN_LOOKS)
    except TerminationSignal:
        # An interrupted run attaches to it again. People cancel the chain, of whose stage this is the run.
        with get_client(sync_client=True) as client:
            ours = client.read_flow_run(flow_run.root_flow_run_id).state
            if ours is not None and (ours.is_cancelling() or ours.is_cancelled()):
                client.set_flow_run_state(run_id, Cancelling(message="the run that waits for it was cancelled"))
        raise


def has_ended(run: FlowRun) -> bool:
    """Return whether a run has ended for good: a crashed run is soon restarted, where that can help."""
    if run.state is None or not run.state.is_final():
        return False
    return not run.state.is_crashed() or datetime.now(UTC) - run.state.timestamp > TIME_TO_COME_BACK


def config_elsewhere(config: Config) -> Config:
    """Return the configuration for another folder and machine, which hands nothing over itself."""
    elsewhere: dict[str, Any] = {
        "root": config.state.root.resolve() / REMOTE_FOLDER,
        "mirror": absolute_address(mirror_address(config)),
        "mlflow": mlflow_store(config.state)[0],
    }
    absolute = absolute_config(config)
    return absolute.model_copy(
        update={
            "state": absolute.state.model_copy(update=elsewhere),
            "workers": absolute.workers.model_copy(update={"training": None, "inference": None}),
        }
    )
