"""Plan of a forgetting, fixed before anything changes, since what it is made from is among what is removed."""

import secrets
from typing import Final

from schemas.artifact import ArtifactKind
from tasks.lineage.graph.models import read_versions
from tasks.lineage.erase.forget import Reached, reached_rows
from tasks.lineage.erase.forgetting import Forgetting
from tasks.lineage.erase.identities_left import hashed_identities
from tasks.lineage.erase.reach import spread_of_learning, taught
from tasks.lineage.store.inventory import Inventory

SECRET_BYTES: Final = 32


def planned(inventory: Inventory, found: Reached, subject: str, config_digest: str) -> Forgetting:
    """Return what a forgetting has to do, from what a person's data reached."""
    rows = reached_rows(found)
    records = list(inventory.records.values())
    promotions = {
        record.sha256: version.name
        for version in read_versions(inventory)
        if not version.earlier
        for record in version.promotions
    }
    secret = secrets.token_hex(SECRET_BYTES)
    return Forgetting(
        subject=subject,
        kinds=found.kinds,
        config_digest=config_digest,
        secret=secret,
        holding={sha256: inventory.records[sha256].kind for sha256, _ in rows},
        taught=tuple(dict.fromkeys(taught(records, rows))),
        versions=promotions,
        identities=hashed_identities(found.person, bytes.fromhex(secret)),
        prompts=len(found.prompts),
        doubts=tuple(found.doubts),
    )


def to_remove(inventory: Inventory, state: Forgetting) -> dict[str, ArtifactKind]:
    """Return the artifacts to remove, with their kinds.

    What learned from them is removed, unless it is an artifact of the chain as it is now: made again without them it
    came out the same, so that it never learned from them.
    """
    records = list(inventory.records.values())
    kept = set(state.kept)
    start = {sha256 for sha256 in state.taught if sha256 not in kept}
    gone = (spread_of_learning(start, records) | set(state.holding)) - kept
    return {sha256: inventory.records[sha256].kind for sha256 in sorted(gone) if sha256 in inventory.records}
