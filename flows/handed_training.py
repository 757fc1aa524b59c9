"""Training on another machine: what it needs is left for it, a deployment is run, and its policies are fetched.

Whoever asks twice for the same training gets the one that is under way, or what came of it: a run of the chain that is
interrupted and goes on attaches to its training again.
"""

import hashlib
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final, cast
from uuid import UUID

import httpx
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterTags
from prefect.client.schemas.objects import FlowRun
from prefect.deployments import run_deployment
from prefect.exceptions import ObjectNotFound, PrefectException, TerminationSignal
from prefect.logging import get_run_logger
from prefect.runtime import flow_run
from prefect.states import Cancelling
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from flows.absolute_config import absolute_address, absolute_config
from flows.console import say
from flows.infra_pools import has_worker
from flows.session import mirror_address, mlflow_store
from flows.stage import StageResult, open_recorder, open_store
from flows.train import stage_name, trained_before, training_key
from schemas.artifact import ArtifactRecord
from schemas.config import Config
from schemas.errors import InputError, Interrupted, TucanoError
from tasks.checkpoints.shared_artifacts import NotShared, SharedArtifacts
from tasks.lineage.artifacts import ArtifactDamaged, ArtifactStore

SECONDS_BETWEEN_LOOKS: Final = 5.0
SECONDS_OF_SILENCE: Final = 900.0
"""How long Prefect's server may be away while a training is waited for: long enough to be upgraded."""
TIME_TO_COME_BACK: Final = timedelta(minutes=5)
"""Of a run that has crashed: the automations need seconds, and the server may be busy."""
TRAINER_FOLDER: Final = "trainer"
"""Of the state: where a machine that is handed trainings keeps its own, also where it is this one."""
_ANSWER: Final = TypeAdapter(dict[int, str])
"""The sha256 of each policy, by its seed."""
DECIDING: Final = ("prompts", "dataset", "base")
"""Roles of the artifacts that decide what comes of a training."""


class Given(BaseModel):
    """What a training is handed: which artifacts it starts from, and who waits for it."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    key: str
    """What decides the policies that are asked for (`flows.train.training_key`)."""
    pipeline_run: str
    """MLflow's run of the chain that the training is a stage of."""
    artifacts: dict[str, str]
    """The sha256 of each artifact that it starts from, by its role."""
    fresh: str | None = None
    """The run that wants its policies trained from the start; None: checkpoints are gone on from."""

    @property
    def name(self) -> str:
        """What the training is known by, between the machines and on Prefect's server."""
        return hashlib.sha256(f"{self.key} {self.fresh}".encode()).hexdigest()


def train_elsewhere(
    config: Config,
    pipeline_run: str,
    given: Mapping[str, StageResult],
    *,
    fresh: str | None,
) -> dict[int, StageResult]:
    """Have the policies trained by the deployment that the configuration names, and return them by seed.

    Args:
        config: The run's configuration.
        pipeline_run: MLflow's run of the chain.
        given: The stages that training starts from: `DECIDING`, and the audit that lets it start.
        fresh: The run that wants everything made anew; None: what was trained before is taken.

    Raises:
        InputError: There is no such deployment, or machines cannot hand artifacts over.
        Interrupted: Prefect's server went away.
        TucanoError: The training failed.
    """
    started = time.monotonic()
    shared, store = open_shared(config), open_store(config)
    inputs = {role: given[role].record for role in DECIDING}
    handed = Given(
        key=training_key(config, inputs),
        pipeline_run=pipeline_run,
        artifacts={role: result.record.sha256 for role, result in given.items()},
        fresh=fresh,
    )
    policies = _trained_before(config, inputs, store) if fresh is None else None
    policies = policies or fetch_answer(handed, shared, store)
    if policies is None:
        for result in given.values():
            shared.push(result.record, result.path)
        _run(config, handed)
        policies = fetch_answer(handed, shared, store)
        if policies is None:
            raise TucanoError(
                f"the training {handed.name[:12]} is completed, and its policies are not in {config.state.artifacts}; "
                "see that both machines use the same place, and run the same command again"
            )
        seconds = time.monotonic() - started
        policies = {seed: replace(policy, seconds=seconds, reused=False) for seed, policy in policies.items()}
    recorder = open_recorder(config)
    for seed, policy in policies.items():
        # Its stage is noted on the run that handed the training over first, which may have been another.
        recorder.note_reuse(pipeline_run, stage_name(seed, policies), policy.record)
        made = "trained before" if policy.reused else f"trained by {config.workers.training}"
        say(f"train: policy {policy.record.sha256[:12]} of seed {seed}, {made} on {policy.record.machine}")
    return policies


def open_shared(config: Config) -> SharedArtifacts:
    """Open the place where machines hand artifacts over."""
    return SharedArtifacts(str(absolute_address(config.state.artifacts)))


def answer_for(given: Given, policies: Mapping[int, StageResult], shared: SharedArtifacts) -> None:
    """Leave trained policies, and the note that says which they are, for whoever handed the training over."""
    for policy in policies.values():
        shared.push(policy.record, policy.path)
    answer = {seed: policy.record.sha256 for seed, policy in policies.items()}
    shared.leave(_note(given), _ANSWER.dump_json(answer))


def fetch(sha256: str, shared: SharedArtifacts, store: ArtifactStore) -> StageResult:
    """Return an artifact of another machine, copied into the store where it is not there whole.

    Raises:
        NotShared: The place does not have it whole either.
    """
    try:
        store.verify(sha256)
    except ArtifactDamaged:
        with store.draft() as draft:
            store.adopt(draft, shared.pull(sha256, draft))
    return StageResult(store.record(sha256), store.path(sha256), 0.0, reused=True)


def fetch_answer(given: Given, shared: SharedArtifacts, store: ArtifactStore) -> dict[int, StageResult] | None:
    """Fetch the policies that a training left, by seed; None where it is still to be done."""
    note = shared.note(_note(given))
    if note is None:
        return None
    try:
        return {seed: fetch(sha256, shared, store) for seed, sha256 in _ANSWER.validate_json(note).items()}
    except (NotShared, ArtifactDamaged) as error:
        say(f"{error}; training again")
    except ValidationError:
        say(f"what was left of the training {given.name[:12]} cannot be read; training again")
    return None


def _trained_before(
    config: Config, inputs: Mapping[str, ArtifactRecord], store: ArtifactStore
) -> dict[int, StageResult] | None:
    found = trained_before(config, inputs, store)
    if found is None:
        return None
    return {seed: StageResult(record, store.path(record.sha256), 0.0, reused=True) for seed, record in found.items()}


def _run(config: Config, given: Given) -> None:
    """Run the deployment until it has trained, or attach to its run for the same training."""
    name = str(config.workers.training)
    tag = f"training-{given.name[:16]}"
    _warn_of_no_worker(name)
    uri, _ = mlflow_store(config.state)
    mirror = absolute_address(mirror_address(config))
    elsewhere = {"root": config.state.root.resolve() / TRAINER_FOLDER, "mirror": mirror, "mlflow": uri}
    handed = absolute_config(config)
    handed = handed.model_copy(
        update={
            "state": handed.state.model_copy(update=elsewhere),
            "workers": handed.workers.model_copy(update={"training": None}),
        }
    )
    say(f"train: handed to {name}")
    started = run_deployment(
        name,
        parameters={"config": handed.model_dump(mode="json"), "given": given.model_dump(mode="json")},
        # A run that has ended is not attached to: whoever asks again wants another attempt.
        idempotency_key=f"{given.name}-{_ended_before(tag)}",
        timeout=0,
        tags=[tag],
    )
    run = _wait_for(cast("FlowRun", started).id)
    if run.state is None or not run.state.is_completed():
        told = run.state.message if run.state is not None else "it has no state"
        raise TucanoError(
            f"the training that was handed to {name} ended as {run.state_name}: {told}; see the run {run.name}, and "
            "run the same command again: training goes on from its newest checkpoint"
        )


def _ended_before(tag: str) -> int:
    with get_client(sync_client=True) as client:
        runs = client.read_flow_runs(flow_run_filter=FlowRunFilter(tags=FlowRunFilterTags(all_=[tag])))
    return sum(_has_ended(run) for run in runs)


def _wait_for(run_id: UUID) -> FlowRun:
    answered = time.monotonic()
    try:
        while True:
            try:
                with get_client(sync_client=True) as client:
                    run = client.read_flow_run(run_id)
            except ObjectNotFound:
                raise InputError(
                    f"the training's run {run_id} was deleted on Prefect's server; run the same command again, and "
                    "training goes on from its newest checkpoint"
                ) from None
            except (httpx.HTTPError, PrefectException) as error:
                if time.monotonic() - answered > SECONDS_OF_SILENCE:
                    raise Interrupted(
                        f"Prefect's server does not answer ({type(error).__name__}) while a training is waited for; "
                        "start it, and run the same command again: the training is attached to"
                    ) from None
            else:
                answered = time.monotonic()
                if _has_ended(run):
                    return run
            time.sleep(SECONDS_BETWEEN_LOOKS)
    except TerminationSignal:
        _cancel_with_us(run_id)
        raise


def _cancel_with_us(run_id: UUID) -> None:
    """Cancel the training where somebody cancels the run that waits for it; an interrupted one attaches to it again."""
    with get_client(sync_client=True) as client:
        ours = client.read_flow_run(flow_run.id).state
        if ours is not None and (ours.is_cancelling() or ours.is_cancelled()):
            client.set_flow_run_state(run_id, Cancelling(message="the run that waits for it was cancelled"))


def _has_ended(run: FlowRun) -> bool:
    """Tell whether a run has ended for good: one that has crashed is soon brought back, where that can help."""
    if run.state is None or not run.state.is_final():
        return False
    return not run.state.is_crashed() or datetime.now(UTC) - run.state.timestamp > TIME_TO_COME_BACK


def _warn_of_no_worker(name: str) -> None:
    with get_client(sync_client=True) as client:
        try:
            pool_name = client.read_deployment_by_name(name).work_pool_name
        except ObjectNotFound:
            raise InputError(
                f"Prefect has no deployment {name}, which workers.training names; make it with `tucano infra apply`, "
                "or leave workers.training out to train here"
            ) from None
        if pool_name is None:
            raise InputError(
                f"the deployment {name}, which workers.training names, has no work pool any more; bring it back with "
                "`tucano infra apply`"
            )
        pool = client.read_work_pool(pool_name)
        is_served = has_worker(client, pool)
    if pool.is_paused or not is_served:
        why = "is paused" if pool.is_paused else "has no worker online"
        told = f"the work pool {pool_name} {why}; the training waits until that is mended"
        say(f"train: {told}")
        get_run_logger().warning(told)


def _note(given: Given) -> str:
    return f"trained-{given.name}.json"
