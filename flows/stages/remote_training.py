"""Training on another machine: requested here, done there."""

import hashlib
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Final

from flows.runtime.console import say
from flows.stages.remote import OTHER_CODE, RemoteAnswer, RemoteRequest, open_exchange, run_remotely
from flows.stages.runner import Session, StageResult, stage_key
from flows.stages.train import STAGE, entry_modules, key_inputs, stage_name, train, training_seeds
from schemas.artifact import ArtifactRecord
from schemas.config.config import Config
from schemas.errors import InputError
from schemas.source import source_digest

DECIDING: Final = ("prompts", "dataset", "base")
"""Roles of the artifacts that decide the policies."""


class TrainingRequest(RemoteRequest):
    """Request of a training: the artifacts to start from, and the run that waits."""

    what: ClassVar = "training"
    when_repeated: ClassVar = "training resumes from its newest checkpoint"
    not_in_name: ClassVar = frozenset({"pipeline_run", "artifacts"})

    key: str
    """Digest of everything that decides the policies (`training_key`)."""
    pipeline_run: str
    """MLflow's run of the chain that the training is a stage of."""


def training_key(config: Config, inputs: Mapping[str, ArtifactRecord]) -> str:
    """Return the digest of everything that decides the policies of all seeds: equal keys mean equal policies."""
    code, seeds = entry_modules(config), training_seeds(config)
    keys = [stage_key(STAGE, code, key_inputs(config, seed), inputs) for seed in seeds]
    return hashlib.sha256("\n".join(keys).encode()).hexdigest()


def train_remotely(session: Session, given: Mapping[str, StageResult]) -> dict[int, StageResult]:
    """Have the configured deployment train the policies, and return them by seed."""
    started, config, exchange = time.monotonic(), session.config, open_exchange(session.config)
    inputs = {role: given[role].record for role in DECIDING}
    request = TrainingRequest(
        stage=STAGE,
        artifacts={role: result.record.sha256 for role, result in given.items()},
        fresh=session.fresh,
        key=training_key(config, inputs),
        pipeline_run=session.run,
    )

    def fetch(answer: RemoteAnswer) -> dict[int, StageResult]:
        return {int(seed): exchange.fetch(sha256) for seed, sha256 in answer.artifacts.items()}

    policies = _trained_before(session, inputs) if session.fresh is None else None
    if policies is None:
        made, is_new = run_remotely(session, str(config.workers.training), request, fetch)
        seconds = time.monotonic() - started if is_new else 0.0
        policies = {seed: replace(policy, seconds=seconds, reused=not is_new) for seed, policy in made.items()}
    recorder = session.recorder
    for seed, policy in policies.items():
        # Its stage is noted on the run that first requested the training, which may have been another.
        recorder.note_reuse(session.run, stage_name(seed, policies), policy.record)
        how = "trained before" if policy.reused else f"trained by {config.workers.training}"
        say(f"train: policy {policy.record.sha256[:12]} of seed {seed}, {how} on {policy.record.machine}")
    return policies


def _trained_before(session: Session, inputs: Mapping[str, ArtifactRecord]) -> dict[int, StageResult] | None:
    """Return the policy of each seed, in the configuration's order; None unless this machine has them all whole."""
    config, store = session.config, session.store
    code, made_from = source_digest(*entry_modules(config)), {role: record.sha256 for role, record in inputs.items()}
    seeds = {key_inputs(config, seed): seed for seed in training_seeds(config)}
    found: dict[int, ArtifactRecord] = {}
    # The newest first: a policy that was trained again replaces the earlier one.
    for policy in store.records("policy"):
        seed = seeds.get(policy.config_digest)
        if seed in found or policy.code_version != code or not made_from.items() <= policy.inputs.items():
            continue
        if seed is not None and store.is_whole(policy.sha256):
            found[seed] = policy
    if len(found) < len(seeds):
        return None
    return {seed: session.result(found[seed]) for seed in seeds.values()}


def train_for_another(session: Session, request: TrainingRequest, given: Mapping[str, StageResult]) -> RemoteAnswer:
    """Train what another machine requests."""
    if training_key(session.config, {role: given[role].record for role in DECIDING}) != request.key:
        raise InputError(OTHER_CODE)
    session.recorder.end_abandoned()
    policies = train(session, given)
    return RemoteAnswer(artifacts={str(seed): policy.record.sha256 for seed, policy in policies.items()})
