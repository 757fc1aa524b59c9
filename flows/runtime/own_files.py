"""A shop's own files, opened with the key of the state folder and with curation's search for personal data."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from schemas.config.config import SynthesizeConfig

if TYPE_CHECKING:
    import polars as pl

    from tasks.synthesize.own.opened import OwnFiles

IDS_AT_ONCE: Final = 10_000


def own_files(config: SynthesizeConfig, state: Path) -> "OwnFiles | None":
    """Return the files of `synthesize.files`; None where another source is set.

    Args:
        config: The section of synthesis.
        state: The state folder, which keeps the key of pseudonyms.

    Raises:
        InputError: The column map is invalid, or a file of it cannot be read.
    """
    if config.files is None:
        return None
    # All rewards and detectors, which most runs of this command do without.
    from tasks.commerce.registry import TASKS  # noqa: PLC0415
    from tasks.synthesize.own.identities import open_key  # noqa: PLC0415
    from tasks.synthesize.own.opened import open_own_files  # noqa: PLC0415

    inputs = {name: task.inputs for name, task in TASKS.items()}
    return open_own_files(config.files, partial(open_key, state), _hold_personal_data, inputs)


def _hold_personal_data(identifiers: "pl.Series") -> bool:
    from tasks.curate.quarantine import personal_identifiers  # noqa: PLC0415

    # Where the first is one, the others need no search.
    return any(personal_identifiers(part).any() for part in _parts(identifiers))


def _parts(identifiers: "pl.Series") -> "Iterator[pl.Series]":
    return (identifiers.slice(first, IDS_AT_ONCE) for first in range(0, identifiers.len(), IDS_AT_ONCE))
