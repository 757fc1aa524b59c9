"""Training on another machine: share the inputs, run a deployment, fetch the policies.

Requesting the same training twice gives the one under way, or its result: an interrupted run of the chain that resumes
attaches to its training again.
"""

import hashlib
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from flows.runtime.console import say, warn
from flows.runtime.stores import open_recorder, open_store
from flows.stages.remote_run import RemoteRun, fetch, open_shared, run_remotely
from flows.stages.runner import StageResult
from flows.stages.train import stage_name, trained_before, training_key
from schemas.config.config import Config
from schemas.errors import TucanoError
from tasks.checkpoints.shared_artifacts import NotShared, SharedArtifacts
from tasks.lineage.store.artifacts import ArtifactDamaged, ArtifactStore

_ANSWER: Final = TypeAdapter(dict[int, str])
"""The sha256 of each policy, by its seed."""
DECIDING: Final = ("prompts", "dataset", "base")
"""Roles of the artifacts that decide the policies."""


class RemoteTrainRequest(BaseModel):
    """Request of a remote training: the artifacts to start from, and the run that waits."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    key: str
    """Digest of everything that decides the policies (`flows.stages.train.training_key`)."""
    pipeline_run: str
    """MLflow's run of the chain that the training is a stage of."""
    artifacts: dict[str, str]
    """The sha256 of each artifact that it starts from, by role."""
    fresh: str | None = None
    """The run that wants its policies trained from the start; None: resume from checkpoints."""

    @property
    def name(self) -> str:
        """The training's name, shared by the machines and Prefect's server."""
        return hashlib.sha256(f"{self.key} {self.fresh}".encode()).hexdigest()


def train_remotely(
    config: Config,
    pipeline_run: str,
    given: Mapping[str, StageResult],
    *,
    fresh: str | None,
) -> dict[int, StageResult]:
    """Have the configured deployment train the policies, and return them by seed.

    Args:
        config: The run's configuration.
        pipeline_run: MLflow's run of the chain.
        given: The stages that training starts from: `DECIDING`, and the audit that allows it.
        fresh: The run that wants everything made again; None: earlier results are reused.

    Raises:
        InputError: There is no such deployment, or the machines share no store of artifacts.
        Interrupted: Prefect's server went away.
        TucanoError: The training failed.
    """
    started = time.monotonic()
    shared, store = open_shared(config), open_store(config)
    inputs = {role: given[role].record for role in DECIDING}
    request = RemoteTrainRequest(
        key=training_key(config, inputs),
        pipeline_run=pipeline_run,
        artifacts={role: result.record.sha256 for role, result in given.items()},
        fresh=fresh,
    )
    policies = trained_before(config, inputs, store) if fresh is None else None
    policies = policies or fetch_answer(request, shared, store)
    if policies is None:
        for result in given.values():
            shared.push(result.record, result.path)
        _run(config, request)
        policies = fetch_answer(request, shared, store)
        if policies is None:
            raise TucanoError(
                f"the training {request.name[:12]} is completed, and its policies are not in {config.state.artifacts}; "
                "see that both machines use the same place, and run the same command again"
            )
        seconds = time.monotonic() - started
        policies = {seed: replace(policy, seconds=seconds, reused=False) for seed, policy in policies.items()}
    recorder = open_recorder(config)
    for seed, policy in policies.items():
        # Its stage is noted on the run that first requested the training, which may have been another.
        recorder.note_reuse(pipeline_run, stage_name(seed, policies), policy.record)
        made = "trained before" if policy.reused else f"trained by {config.workers.training}"
        say(f"train: policy {policy.record.sha256[:12]} of seed {seed}, {made} on {policy.record.machine}")
    return policies


def publish_policies(given: RemoteTrainRequest, policies: Mapping[int, StageResult], shared: SharedArtifacts) -> None:
    """Share trained policies, and the note that names them, with the run that requested the training."""
    for policy in policies.values():
        shared.push(policy.record, policy.path)
    answer = {seed: policy.record.sha256 for seed, policy in policies.items()}
    shared.leave(_note(given), _ANSWER.dump_json(answer))


def fetch_answer(
    given: RemoteTrainRequest, shared: SharedArtifacts, store: ArtifactStore
) -> dict[int, StageResult] | None:
    """Fetch the policies that a training shared, by seed; None where it is still to be done."""
    note = shared.note(_note(given))
    if note is None:
        return None
    try:
        return {seed: fetch(sha256, shared, store) for seed, sha256 in _ANSWER.validate_json(note).items()}
    except (NotShared, ArtifactDamaged) as error:
        warn(f"{error}; training again", "train")
    except ValidationError:
        warn(f"what was left of the training {given.name[:12]} cannot be read; training again", "train")
    return None


def _run(config: Config, given: RemoteTrainRequest) -> None:
    """Run the deployment until it has trained, or attach to its run for the same training."""
    run = RemoteRun(
        what="training",
        stage="train",
        deployment=str(config.workers.training),
        name=given.name,
        when_repeated="training resumes from its newest checkpoint",
    )
    run_remotely(config, run, {"given": given.model_dump(mode="json")})


def _note(given: RemoteTrainRequest) -> str:
    return f"trained-{given.name}.json"
