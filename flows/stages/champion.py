"""Champion that a challenger is compared with in addition to the base: the model that it would replace."""

from contextlib import suppress
from dataclasses import dataclass

from flows.runtime.stores import open_store, read_registry
from schemas.artifact import ArtifactRecord
from schemas.config.config import Config
from schemas.errors import InputError
from tasks.lineage.store.artifacts import ArtifactDamaged, ArtifactStore


@dataclass(frozen=True)
class Champion:
    """A promoted policy and the base that it was trained on."""

    policy: ArtifactRecord
    base: ArtifactRecord


def champion_for(config: Config, challenger: ArtifactRecord) -> Champion | None:
    """Return the registry's champion; None where there is none.

    A challenger that became the champion is compared with its predecessor, if that still exists: a repeated command
    then gives the same result.

    Raises:
        InputError: The champion's artifacts are gone, so that nothing can be compared with it.
    """
    store, registry = open_store(config), read_registry(config)
    name = config.promote.model_name
    holder = registry.holder(name, config.promote.alias)
    if holder is None:
        return None
    known = {version.policy for version in registry.versions(name)}
    if holder.policy == challenger.sha256:
        with suppress(ArtifactDamaged):
            before = store.record(holder.evaluation).inputs.get("champion")
            return _load(store, before) if before in known else None
        return None
    try:
        return _load(store, holder.policy)
    except ArtifactDamaged as error:
        raise InputError(
            f"the champion, version {holder.version}, cannot be compared with: {error}; bring its artifact back, or "
            "leave it out with --set evaluate.against_champion=false"
        ) from error


def _load(store: ArtifactStore, sha256: str) -> Champion:
    store.verify(sha256)
    policy = store.record(sha256)
    return Champion(policy, store.record(policy.inputs["base"]))
