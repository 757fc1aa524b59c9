"""Training on another machine: requested here, done there."""

import hashlib
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Final

from flows.runtime.console import say
from flows.stages.remote import RemoteAnswer, RemoteRequest, open_exchange, refuse_other_code, run_remotely
from flows.stages.runner import Session, StageResult, stage_key
from flows.stages.train import STAGE, entry_modules, key_inputs, stage_name, train, training_seeds
from schemas.artifact import ArtifactRecord
from schemas.config.config import Config
from schemas.source import source_digest

DECIDING: Final = ("prompts", "dataset", "base")
"""Roles of the artifacts that decide the policies."""


class TrainingRequest(RemoteRequest):
    """Request of a training: the artifacts to start from, and the run that waits."""

    what: ClassVar = "training"
    not_in_name: ClassVar = frozenset({"pipeline_run", "artifacts"})

    key: str
    """Digest of everything that decides the policies (`training_key`)."""
    pipeline_run: str
    """MLflow's run of the chain that the training is a stage of."""


def training_key(config: Config, given: Mapping[str, StageResult]) -> str:
    """Return the digest of everything that decides the policies of all seeds: equal keys mean equal policies."""
    code, inputs = entry_modules(config), {role: given[role].record for role in DECIDING}
    keys = [stage_key(STAGE, code, key_inputs(config, seed), inputs) for seed in training_seeds(config)]
    return hashlib.sha256("\n".join(keys).encode()).hexdigest()


def train_remotely(session: Session, given: Mapping[str, StageResult]) -> dict[int, StageResult]:
    """Have the configured deployment train the policies, and return them by seed."""
    started, config, exchange = time.monotonic(), session.config, open_exchange(session.config)
    request = TrainingRequest(
        stage=STAGE,
        artifacts={role: result.record.sha256 for role, result in given.items()},
        fresh=session.fresh,
        key=training_key(config, given),
        pipeline_run=session.run,
    )

    def fetch(answer: RemoteAnswer) -> dict[int, StageResult]:
        return {int(seed): exchange.fetch(sha256) for seed, sha256 in answer.artifacts.items()}

    policies = _trained_before(session, given) if session.fresh is None else None
    if policies is None:
        made, is_new = run_remotely(session, str(config.workers.training), request, fetch)
        seconds = time.monotonic() - started if is_new else 0.0
        policies = {seed: replace(policy, seconds=seconds, reused=not is_new) for seed, policy in made.items()}
    for seed, policy in policies.items():
        # Its stage is noted on the run that first requested the training, which may have been another.
        session.recorder.note_reuse(session.run, stage_name(seed, policies), policy.record)
        how = "trained before" if policy.reused else f"trained by {config.workers.training}"
        say(f"train: policy {policy.record.sha256[:12]} of seed {seed}, {how} on {policy.record.machine}")
    return policies


def _trained_before(session: Session, given: Mapping[str, StageResult]) -> dict[int, StageResult] | None:
    """Return the policy of each seed, in the configuration's order; None unless this machine has them all whole."""
    config, store = session.config, session.store
    code, made_from = source_digest(*entry_modules(config)), {role: given[role].record.sha256 for role in DECIDING}
    seeds = {key_inputs(config, seed): seed for seed in training_seeds(config)}
    found: dict[int, ArtifactRecord] = {}
    # The newest first: a policy that was trained again replaces the earlier one.
    for policy in store.records("policy"):
        seed = seeds.get(policy.config_digest)
        is_same = policy.code_version == code and made_from.items() <= policy.inputs.items()
        if seed is not None and seed not in found and is_same and store.is_whole(policy.sha256):
            found[seed] = policy
    return {seed: session.result(found[seed]) for seed in seeds.values()} if len(found) == len(seeds) else None


def train_for_another(session: Session, request: TrainingRequest, given: Mapping[str, StageResult]) -> RemoteAnswer:
    """Train what another machine requests."""
    refuse_other_code(asked=request.key, here=training_key(session.config, given))
    session.recorder.end_abandoned()
    policies = train(session, given)
    return RemoteAnswer(artifacts={str(seed): policy.record.sha256 for seed, policy in policies.items()})
