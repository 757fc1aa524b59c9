"""Reader of the prompts to curate (a synthesis folder, a table, or JSON Lines), and of those that the base knows.

None of what the base was trained on may test what is trained on it. A file of hashes of its words has 8 bytes for each
prompt, in parquet, and tells nobody the prompts; a shop may give the texts instead.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from polars.exceptions import PolarsError
from pydantic import BaseModel, ConfigDict, Field

from schemas.errors import InputError
from schemas.json_lines import gives_a_key_twice, stream_json_lines, stream_lines
from schemas.tables.prompts import (
    PromptLine,
    PromptRow,
    content_id,
    reading_prompts,
    scan_prompt_table,
    write_prompt_table,
)
from schemas.tables.summaries import SUMMARY_FILE, PromptsSummary
from tasks.commerce.registry import TASKS
from tasks.curate.words import Hashes, spoken, with_words
from tasks.personal_data.scrub import scrub_column

JSON_LINES: Final = (".jsonl", ".ndjson", ".json")
MOST_NAMED: Final = 5
COLUMN: Final = "words_hash"


@dataclass(frozen=True)
class IncomingPrompts:
    """Prompts to curate."""

    table: Path
    rows: int
    given_twice: frozenset[int] = frozenset()
    """Rows, from 1, whose line of JSON gave a key twice."""
    scrubbed: Mapping[str, int] = field(default_factory=dict)
    """Personal data that synthesis replaced, by kind."""


def open_prompts(path: Path, work: Path) -> IncomingPrompts:
    """Return the prompts to curate."""
    table = path / "prompts.parquet" if path.is_dir() else path
    given_twice: frozenset[int] = frozenset()
    if table.suffix.lower() in JSON_LINES:
        lines, table = table, work / "prompts.parquet"
        given_twice = _write_table(lines, table)
    rows = scan_prompt_table(table)
    with reading_prompts(table):
        count = int(rows.select(pl.len()).collect().item())
        if not count:
            raise InputError(f"{table} has no prompts; make some with `tucano synthesize`")
        _refuse_ambiguous_ids(table, rows)
    summary = path / SUMMARY_FILE
    scrubbed = PromptsSummary.read(path).scrubbed if summary.is_file() else {}
    return IncomingPrompts(table, count, given_twice, scrubbed)


def _write_table(lines: Path, table: Path) -> frozenset[int]:
    """Write the prompts of JSON Lines as a table, and return the rows whose line gave a key twice."""
    given_twice = []

    def rows() -> Iterator[PromptRow]:
        for number, (text, line) in enumerate(stream_lines(lines, PromptLine, "prompts"), start=1):
            if gives_a_key_twice(text):
                given_twice.append(number)
            system = TASKS[line.task].system if line.system is None else line.system
            content = (line.task, system, line.prompt, line.reference)
            identity = content_id(*content) if line.prompt_id is None else line.prompt_id
            origin = (line.customer_id, line.order_id, line.review_id, line.parent_id)
            yield PromptRow(identity, *content, line.source, *origin)

    write_prompt_table(table, rows())
    return frozenset(given_twice)


def _refuse_ambiguous_ids(table: Path, rows: pl.LazyFrame) -> None:
    content = pl.struct("task", "system", "prompt", "reference").hash()
    contents = rows.select("prompt_id", content=content).with_row_index("row", offset=1).drop_nulls("prompt_id")
    ambiguous = (
        contents.group_by("prompt_id")
        .agg(pl.col("row").head(MOST_NAMED), different=pl.col("content").n_unique())
        .filter(pl.col("different") > 1)
        .sort(pl.col("row").list.first())
        .collect(engine="streaming")
    )
    if ambiguous.height:
        named = "; ".join(
            f"rows {', '.join(map(str, places))}" for places in ambiguous["row"].head(MOST_NAMED).to_list()
        )
        raise InputError(
            f"{table}: {ambiguous.height} prompt_id name different prompts each ({named}); an id is the sha256 of its "
            "prompt: make the ids again, or leave them out of JSON Lines"
        )


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
    """Read hashes as `write_known` writes them, or hash the prompts of a file of JSON Lines of `{"prompt"}`."""
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
