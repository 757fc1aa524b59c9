"""Weights of a registered version, found in the artifact store for questions and for serving."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from flows.runtime.stores import existing_store, open_registry
from flows.stages.registered_version import verified_record
from schemas.artifact import ArtifactRecord
from schemas.config.config import Config
from schemas.errors import InputError
from schemas.tasks import TASK_NAMES, SpecName, TaskName
from tasks.bag_of_words.bag import read_bags
from tasks.evaluate.claims import unlearned_tasks
from tasks.evaluate.compare import read_report
from tasks.lineage.mlflow.registry import PolicyVersion
from tasks.lineage.store.artifacts import ArtifactStore
from tasks.serve.served_model import Decoding, ServedModel, evaluated_decoding


def find_served_model(config: Config, number: str | None, *, base: bool, answer_all: bool) -> tuple[ServedModel, Path]:
    """Return the model of a version, with the decoding that it was evaluated with, and the folder of its dataset."""
    store = existing_store(config, "no model is there that could answer")
    parts = version_parts(config, store, number, instead="ask one that is registered with --version {}")
    merged = None if base else parts.merged
    weights = merged or parts.base
    verified_record(store, weights, parts.what)
    unlearned: Mapping[TaskName, str] = {}
    if not (base or answer_all):
        is_held = number is None and parts.is_held and parts.baselines
        held = dict.fromkeys(TASK_NAMES, "the gate holds its policy")
        unlearned = held if is_held else unlearned_tasks(read_report(store.path(parts.evaluation.sha256)))
    evaluations = {task: verified_record(store, of, parts.what) for task, of in parts.baselines.items() if not base}
    served = ServedModel(
        name=f"the base of version {parts.number}" if base else f"version {parts.number}",
        number=parts.number,
        version_name=f"{config.promote.model_name}/{parts.number}",
        weights=store.path(weights),
        policy=None if base or merged else store.path(parts.policy.sha256),
        decoding=parts.decoding,
        batch_size=config.evaluate.batch_size,
        seed=config.seed,
        store=parts.store,
        spec=parts.spec,
        unlearned={task: why for task, why in unlearned.items() if task not in evaluations},
        bags={task: read_bags(store.path(record.sha256))[task] for task, record in evaluations.items()},
    )
    return served, parts.dataset


@dataclass(frozen=True)
class VersionParts:
    """Artifacts that a version is made of."""

    number: str
    """Its number in the registry."""
    what: str
    """The version in a sentence."""
    policy: ArtifactRecord
    base: str
    """The sha256 of its base, which is not verified."""
    merged: str | None
    """The sha256 of the merged model, which is not verified; None where there is none."""
    dataset: Path
    """Folder of its dataset."""
    store: Path | None
    """Folder of the store that its prompts are about; None where it is gone."""
    decoding: Decoding
    """How its answers were drawn when it was evaluated."""
    spec: SpecName
    evaluation: ArtifactRecord
    is_held: bool
    """Whether neither the gate nor a person promoted its policy."""
    baselines: Mapping[TaskName, str]
    """By task that a bag of words answers, the sha256 of its evaluation."""


def version_parts(config: Config, store: ArtifactStore, number: str | None, *, instead: str) -> VersionParts:
    """Find what a version is made of."""
    version = _version(config, number, instead)
    what = f"version {version.version} of {config.promote.model_name}"
    evaluation, policy = (verified_record(store, sha256, what) for sha256 in (version.evaluation, version.policy))
    shop = evaluation.inputs.get("prompts")
    known = evaluation.config or config.model_dump(mode="json")  # A record of long ago has none.
    return VersionParts(
        number=version.version,
        what=what,
        policy=policy,
        base=policy.inputs["base"],
        merged=_merged(store, policy),
        dataset=store.path(policy.inputs["dataset"]),
        store=store.path(shop) / "store" if shop is not None and store.is_whole(shop) else None,
        decoding=evaluated_decoding(known),
        spec=known["rewards"]["spec"],
        evaluation=evaluation,
        is_held=version.verdict != "promote" and version.forced is None,
        baselines={task: version.baselines[task] for task in TASK_NAMES if task in version.baselines},
    )


def _version(config: Config, number: str | None, instead: str) -> PolicyVersion:
    names, registry = config.promote, open_registry(config)
    if number is not None:
        return registry.version(names.model_name, number)
    champion = registry.holder(names.model_name, names.alias)
    if champion is None:
        newest = registry.version(names.model_name, None)
        raise InputError(
            f"no version of {names.model_name} is `{names.alias}` yet: the gate held what was trained; "
            f"{instead.format(newest.version)}, or promote one with `tucano promote VERSION`"
        )
    return champion


def _merged(store: ArtifactStore, policy: ArtifactRecord) -> str | None:
    """Return the sha256 of the policy merged into its base; None where each task has an adapter of its own."""
    wanted = {"base": policy.inputs["base"], "policy": policy.sha256}
    return next((record.sha256 for record in store.records("merged") if wanted.items() <= record.inputs.items()), None)
