"""A shop's own files, opened with the key of the state folder and with curation's search for personal data."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import polars as pl

from schemas.config.config import SynthesizeConfig
from tasks.commerce.registry import TASKS
from tasks.curate.quarantine import personal_identifiers
from tasks.synthesize.own.identities import open_key
from tasks.synthesize.own.opened import OwnFiles, open_own_files

IDS_AT_ONCE: Final = 10_000


def own_files(config: SynthesizeConfig, state: Path) -> OwnFiles | None:
    """Return the files of `synthesize.files`; None where another source is set.

    Args:
        config: The section of synthesis.
        state: The state folder, which keeps the key of pseudonyms.

    Raises:
        InputError: The column map is invalid, or a file of it cannot be read.
    """
    if config.files is None:
        return None
    return open_own_files(
        config.files,
        partial(open_key, state),
        _hold_personal_data,
        {name: task.inputs for name, task in TASKS.items()},
    )


def _hold_personal_data(identifiers: pl.Series) -> bool:
    # Where the first is one, the others need no search.
    return any(personal_identifiers(part).any() for part in _parts(identifiers))


def _parts(identifiers: pl.Series) -> Iterator[pl.Series]:
    return (identifiers.slice(first, IDS_AT_ONCE) for first in range(0, identifiers.len(), IDS_AT_ONCE))
