"""Journal of a forgetting, by which an interrupted one resumes; it names artifacts, and nobody."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from schemas.artifact import ArtifactKind
from schemas.errors import InputError

JOURNAL_FOLDER: Final = "forgetting"
"""Of the state folder: what is under way."""
DECIDED: Final = "decide"
"""Last step."""


class Retraced(BaseModel):
    """A training that was made again without the person."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    training: str
    """Its key in the mirror."""
    steps: int
    """Steps of the training."""
    from_step: int
    """The step of the checkpoint that it goes on from; 0 from the start."""
    why: str
    """What decided that step."""


class Forgetting(BaseModel):
    """A forgetting under way: what it does, and how far it is."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    subject: str
    """The id, as a keyed hash."""
    kinds: tuple[str, ...]
    """What the id is of."""
    config_digest: str
    """Digest of the configuration that models are made again with."""
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
    """Prompts that were made of them."""
    splits: dict[str, int] = Field(default_factory=dict)
    """Their rows in each split of the dataset that is made again."""
    doubts: tuple[str, ...]
    """Sentences on what cannot be searched."""
    done: tuple[str, ...] = ()
    """Steps that were finished."""
    log_lines: dict[str, int] = Field(default_factory=dict)
    """Lines taken out of each kind of log."""
    lines_by_text: int = 0
    """Those of them that their text alone found."""
    lines_in_doubt: dict[str, int] = Field(default_factory=dict)
    """Lines that stay, as they may be somebody else's, by file."""
    versions_removed: tuple[str, ...] = ()
    """Registered versions that were removed, of any name."""
    replaced: dict[str, str] = Field(default_factory=dict)
    """The sha256 of each new artifact, by that of the one in whose place it is."""
    kept: tuple[str, ...] = ()
    """Artifacts of the chain as it is now."""
    removed: dict[str, ArtifactKind] = Field(default_factory=dict)
    """Artifacts that were removed."""
    removed_runs: tuple[str, ...] = ()
    """Their runs in MLflow."""
    trainings: tuple[str, ...] = ()
    """Trainings whose checkpoints are removed."""
    retraced: tuple[Retraced, ...] = ()
    unreached: tuple[str, ...] = ()
    """Sentences on what could not be reached."""
    missed: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """By step, sentences on what it could not reach now, and tries again."""
    left: tuple[str, ...] = ()
    """Sentences on what had their ids after the removal, or could not be read again."""
    verdict: str | None = None
    """The gate's word on the new model; None where none was made."""


class Journal:
    """File of a forgetting under way, for its owner alone."""

    def __init__(self, root: Path, subject: str) -> None:
        """Use the file of a subject in a state folder."""
        self._file = root / JOURNAL_FOLDER / f"{subject}.json"

    def read(self) -> Forgetting | None:
        """Return what is under way; None if nothing is.

        Raises:
            InputError: The journal cannot be read.
        """
        try:
            return Forgetting.model_validate_json(self._file.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError):
            raise InputError(
                f"the journal {self._file} cannot be read; remove it, and forget again what can still be found"
            ) from None

    def require_no_other(self) -> None:
        """Refuse to begin while somebody else is being forgotten: either would bring the other back.

        Raises:
            InputError: Another journal has not come to its end.
        """
        others = [file for file in unended(self._file.parent.parent) if file != self._file]
        if others:
            raise InputError(
                f"another person's forgetting was interrupted ({others[0]}); give that person's ID "
                "again with --apply to end it, and forget this one then"
            )

    def write(self, state: Forgetting) -> Forgetting:
        """Keep how far it is, and return that."""
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = self._file.with_suffix(".draft")
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(state.model_dump_json(indent=1))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._file)
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
        return DECIDED in Forgetting.model_validate_json(journal.read_bytes()).done
    except (OSError, ValidationError):
        return False


def named_versions(state: Forgetting) -> tuple[str, ...]:
    """Return the registered versions that removed promotions name."""
    return tuple(sorted({name for promotion, name in state.versions.items() if promotion in state.removed}))
