"""Which model a challenger is held against beside the base: the one whose place it would take."""

from contextlib import suppress
from dataclasses import dataclass

from flows.registry import open_registry
from flows.stage import open_store
from schemas.artifact import ArtifactRecord
from schemas.config import Config
from schemas.errors import InputError
from tasks.lineage.artifacts import ArtifactDamaged, ArtifactStore


@dataclass(frozen=True)
class Champion:
    """A policy that was promoted, with what it answers by."""

    policy: ArtifactRecord
    base: ArtifactRecord
    """The base that it was trained on."""
    load_in_4bit: bool
    """Whether the base's weights are quantized, as they were in its training."""


def champion_for(config: Config, challenger: ArtifactRecord) -> Champion | None:
    """Return the registry's champion; None where there is none.

    A challenger that became the champion is held against the one before it, if that is still there: the command that
    promoted it gives the same answer again.

    Raises:
        InputError: The champion's artifacts are gone, so that nothing can be compared with it.
    """
    store, registry = open_store(config), open_registry(config)
    name = config.promote.model_name
    holder = registry.holder(name, config.promote.alias)
    if holder is None:
        return None
    four_bit = {version.policy: version.load_in_4bit for version in registry.versions(name)}
    if holder.policy == challenger.sha256:
        with suppress(ArtifactDamaged):
            before = store.record(holder.evaluation).inputs.get("champion")
            return _load(store, before, four_bit[before]) if before in four_bit else None
        return None
    try:
        return _load(store, holder.policy, four_bit[holder.policy])
    except ArtifactDamaged as error:
        raise InputError(
            f"the champion, version {holder.version}, cannot be compared with: {error}; bring its artifact back, or "
            "leave it out with --set evaluate.against_champion=false"
        ) from error


def _load(store: ArtifactStore, sha256: str, four_bit: bool) -> Champion:
    store.verify(sha256)
    policy = store.record(sha256)
    return Champion(policy, store.record(policy.inputs["base"]), four_bit)
