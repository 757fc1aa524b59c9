"""Plan and journal of a forgetting: fixed before anything changes, naming artifacts and nobody."""

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from schemas.artifact import ArtifactKind
from schemas.disk import write_whole
from schemas.errors import InputError
from tasks.lineage.erase.find import AskedKind, Reached, spread, taught
from tasks.lineage.graph.graph import read_versions
from tasks.lineage.graph.rows import Identities
from tasks.lineage.store.inventory import Inventory, short

JOURNAL_FOLDER: Final = "forgetting"
"""Of the state folder: what is under way."""
DECIDED: Final = "decide"
"""Last step."""
SECRET_BYTES: Final = 32


class Forgetting(BaseModel):
    """A forgetting under way: what it does, and how far it is."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    asked: str
    """The id as the user gave it, as a hash with the secret."""
    kind: AskedKind | None
    kinds: tuple[str, ...]
    config_digest: str
    secret: str
    """Decides the random ids in the store; it goes with the journal."""
    holding: dict[str, ArtifactKind]
    """Artifacts with their rows."""
    taught: tuple[str, ...]
    """Artifacts whose weights learned from a row itself, not from other weights."""
    versions: dict[str, str]
    """Registered versions, NAME/NUMBER, by the sha256 of each promotion."""
    data: dict[str, str] = Field(default_factory=dict)
    """The prompts and the dataset of the chain that are made again, by role; empty where it has none of them."""
    identities: dict[str, tuple[str, ...]]
    """All their ids, as hashes with the secret, by the columns that hold them."""
    prompts: int
    splits: dict[str, int] = Field(default_factory=dict)
    """Their rows in each split of the dataset that is made again."""
    doubts: tuple[str, ...]
    done: tuple[str, ...] = ()
    log_lines: dict[str, int] = Field(default_factory=dict)
    lines_by_text: int = 0
    """Those of them that their text alone found."""
    lines_in_doubt: dict[str, int] = Field(default_factory=dict)
    """Lines that stay, as they may be somebody else's, by file."""
    versions_removed: tuple[str, ...] = ()
    replaced: dict[str, str] = Field(default_factory=dict)
    """The sha256 of each new artifact, by that of the one in whose place it is."""
    kept: tuple[str, ...] = ()
    removed: dict[str, ArtifactKind] = Field(default_factory=dict)
    removed_runs: tuple[str, ...] = ()
    trainings: tuple[str, ...] = ()
    unreached: tuple[str, ...] = ()
    missed: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """By step, sentences on what it could not reach now, and tries again."""
    left: tuple[str, ...] = ()
    """Sentences on what had their ids after the removal, or could not be read again."""
    verdict: str | None = None
    """The gate's word on the new model; None where none was made."""

    @property
    def key(self) -> bytes:
        """Return the secret as bytes."""
        return bytes.fromhex(self.secret)

    def versions_of(self, promotions: Iterable[str]) -> list[str]:
        """Return the registered versions that some promotions name."""
        return sorted({self.versions[promotion] for promotion in promotions if promotion in self.versions})


def planned(
    inventory: Inventory, found: Reached, config_digest: str, asked: str, kind: AskedKind | None = None
) -> Forgetting:
    """Return what a forgetting has to do, from what a person's data reached."""
    secret = secrets.token_bytes(SECRET_BYTES)
    columns = found.person.columns()
    return Forgetting(
        asked=_hash(asked, secret),
        kind=kind,
        kinds=found.kinds,
        config_digest=config_digest,
        secret=secret.hex(),
        holding={sha256: inventory.records[sha256].kind for sha256, _ in found.rows},
        taught=tuple(dict.fromkeys(taught(inventory.records.values(), found.rows))),
        versions={record.sha256: version.name for version in read_versions(inventory) for record in version.promotions},
        identities={name: tuple(sorted(_hash(value, secret) for value in ids)) for name, ids in columns.items() if ids},
        prompts=len(found.person.prompts),
        doubts=found.doubts,
    )


def to_remove(inventory: Inventory, state: Forgetting) -> dict[str, ArtifactKind]:
    """Return the artifacts to remove, with their kinds.

    What learned from them stays only where it came out the same when it was made again without them.
    """
    kept = set(state.kept)
    learned = spread(set(state.taught) - kept, inventory.records.values())
    gone = (learned | set(state.holding)) - kept
    return {sha256: inventory.records[sha256].kind for sha256 in sorted(gone) if sha256 in inventory.records}


def identities_left(inventory: Inventory, identities: Mapping[str, Iterable[str]], secret: bytes) -> Iterator[str]:
    """Yield a sentence for each table that has one of a person's ids, and for each that cannot be read."""
    known = {column: frozenset(hashes) for column, hashes in identities.items()}
    found = Identities(inventory)
    for table in found.tables:
        for column in table.rows.columns:
            is_person = table.of_prompts and column == "customer_id"
            wanted = known.get("customer_unique_id" if is_person else column, frozenset())
            cells = table.rows[column].drop_nulls().unique() if wanted else ()
            if count := sum(_hash(cell, secret) in wanted for cell in cells):
                yield (
                    f"{table.record.kind} {short(table.record.sha256)} still has {count} of their ids as {column} in "
                    f"{table.file}"
                )
    for sha256, file in found.unread:
        yield f"{file.name} of {short(sha256)} cannot be read, so nobody was looked for in it after the removal"


class Journal:
    """File of a forgetting under way, for its owner alone."""

    def __init__(self, root: Path, identifier: str, kind: AskedKind | None) -> None:
        """Find the file of a forgetting that was begun for an id, or name a new one."""
        folder = root / JOURNAL_FOLDER
        self._file = folder / f"{secrets.token_hex(8)}.json"
        self.begun: Forgetting | None = None
        """What is under way; None if nothing is."""
        for file in sorted(folder.glob("*.json")):
            state = _read(file)
            if hmac.compare_digest(state.asked, _hash(identifier, state.key)) and kind in {None, state.kind}:
                self._file, self.begun = file, state

    def require_no_other(self) -> None:
        """Refuse to begin while somebody else is being forgotten: either would bring the other back."""
        others = [file for file in unended(self._file.parent.parent) if file != self._file]
        if others:
            raise InputError(
                f"another person's forgetting was interrupted ({others[0]}); give that person's ID "
                "again with --apply to end it, and forget this one then"
            )

    def write(self, state: Forgetting) -> Forgetting:
        """Keep how far it is, and return that."""
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(self._file, state.model_dump_json(indent=1), 0o600)
        return state

    def end(self) -> None:
        """Remove it, and with it the secret."""
        self._file.unlink(missing_ok=True)
        with suppress(OSError):  # Others may be under way.
            self._file.parent.rmdir()


def unended(root: Path) -> list[Path]:
    """Return the journals in a state folder of forgettings that were begun, and have not come to their end."""
    return sorted(file for file in (root / JOURNAL_FOLDER).glob("*.json") if not _is_decided(file))


def _is_decided(journal: Path) -> bool:
    """Return whether a forgetting came to its end but for places that it tries again: it brings nobody back."""
    try:
        return DECIDED in _read(journal).done
    except InputError:
        return False


def _read(journal: Path) -> Forgetting:
    try:
        return Forgetting.model_validate_json(journal.read_bytes())
    except (OSError, ValidationError):
        raise InputError(
            f"the journal {journal} cannot be read; remove it, and forget again what can still be found"
        ) from None


def _hash(value: str, secret: bytes) -> str:
    return hmac.digest(secret, value.encode(), hashlib.sha256).hex()
