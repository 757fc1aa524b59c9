"""Prompts that the base was trained on, as hashes of their words: none of them may test what is trained on that base.

A file of them has 8 bytes for each, in parquet, and tells nobody the prompts. A shop may give the texts instead.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from polars.exceptions import PolarsError
from pydantic import BaseModel, ConfigDict, Field

from schemas.errors import InputError
from schemas.json_lines import stream_json_lines
from tasks.curate.words import Hashes, spoken, with_words
from tasks.personal_data.scrub import scrub_column

COLUMN: Final = "words_hash"


class KnownPrompt(BaseModel):
    """Line of a file of texts; other keys are not read."""

    model_config = ConfigDict(frozen=True)

    prompt: str = Field(min_length=1)
    """As the user wrote it, without the system prompt."""


def words_hashes(prompts: Iterable[str]) -> Hashes:
    """Return the hash of each distinct prompt's words, sorted; personal data is replaced before, as in a dataset."""
    clean = [text for text, _ in scrub_column(pl.Series("prompt", list(prompts), pl.String))]
    table = pl.DataFrame({"prompt": clean}, schema={"prompt": pl.String})
    return np.unique(with_words(table).select(spoken()).to_series().to_numpy())


def write_known(hashes: Hashes, file: Path) -> None:
    """Write the hashes as a parquet file of one column."""
    pl.DataFrame({COLUMN: hashes}).write_parquet(file)


def read_known(file: Path) -> Hashes:
    """Read hashes, or hash the prompts of a file of JSON Lines.

    Args:
        file: Parquet with the column `words_hash`, as `write_known` writes it, or JSON Lines of `{"prompt"}`.
    """
    if file.suffix != ".parquet":
        return words_hashes(line.prompt for line in stream_json_lines(file, KnownPrompt, "known prompts"))
    try:
        column = pl.read_parquet(file, columns=[COLUMN], glob=False)[COLUMN].drop_nulls()
        hashes: Hashes = column.cast(pl.UInt64).to_numpy()
    except (OSError, PolarsError) as error:
        raise InputError(
            f"curate.known_to_base {file} has no column {COLUMN} of hashes ({type(error).__name__}); give a file that "
            'the stand-in\'s training wrote, or JSON Lines of {"prompt"}'
        ) from error
    return hashes
