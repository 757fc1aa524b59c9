"""Which model a challenger is held against beside the base: the one whose place it would take."""

from dataclasses import dataclass

from flows.registry import open_registry
from flows.stage import open_store
from schemas.artifact import ArtifactRecord
from schemas.config import Config
from schemas.errors import InputError
from tasks.lineage.artifacts import ArtifactDamaged, ArtifactStore


@dataclass(frozen=True)
class Champion:
    """A policy that was promoted, with the base that it was trained on."""

    policy: ArtifactRecord
    base: ArtifactRecord


def champion_for(config: Config, challenger: ArtifactRecord) -> Champion | None:
    """Return the registry's champion; None where there is none but the challenger itself.

    A challenger that was judged before is held against the champion of then: the same command gives the same answer,
    also after it became the champion.

    Raises:
        InputError: The champion's artifacts are gone, so that nothing can be compared with it.
    """
    store, registry = open_store(config), open_registry(config)
    name, alias = config.promote.model_name, config.promote.alias
    judged = registry.first_of(name, challenger.sha256)
    if judged is not None and (before := _champion_then(store, judged.evaluation)) is not None:
        return _load(store, before) if before else None
    holder = registry.holder(name, alias)
    if holder is None or holder.policy == challenger.sha256:
        return None
    return _load(store, holder.policy)


def _champion_then(store: ArtifactStore, evaluation: str) -> str | None:
    """Return the champion of an earlier evaluation, an empty text where it had none; None where it is gone."""
    try:
        return store.record(evaluation).inputs.get("champion", "")
    except ArtifactDamaged:
        return None


def _load(store: ArtifactStore, sha256: str) -> Champion:
    try:
        policy = store.record(sha256)
        store.verify(sha256)
        return Champion(policy, store.record(policy.inputs["base"]))
    except ArtifactDamaged as error:
        raise InputError(
            f"the champion {sha256[:12]} cannot be compared with: {error}; bring its artifact back, or leave it out "
            "with --set evaluate.against_champion=false"
        ) from error
