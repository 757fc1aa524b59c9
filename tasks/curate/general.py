"""Choice of general instructions for the warm start, mixed with the shop's prompts (the Cocktail Effect).

Each is ordered by a keyed hash of its prompt, and the first ones are taken, independent of their order in the file: a
new line displaces one at most, and a larger dataset keeps all of a smaller one's.
"""

import hashlib
import heapq
from collections import Counter
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Final

import polars as pl

from schemas.config.config import GeneralConfig
from schemas.errors import InputError
from schemas.json_lines import stream_json_lines
from schemas.tables.prompts import GENERAL_FILE, INSTRUCTION_COLUMNS, Instruction, open_parquet
from schemas.tables.summaries import GeneralSummary
from tasks.curate.files import split_file
from tasks.curate.split import DRAWN
from tasks.curate.words import with_words
from tasks.personal_data.scrub import Kind, scrub_column
from tasks.policy.length import PromptLengths

ROWS_AT_ONCE: Final = 1_000
NOTHING: Final = "\n"
"""Occurs in no sentence: an empty search pattern is refused."""

Row = tuple[str, str, str]


def take_general(
    config: GeneralConfig,
    training_rows: int,
    seed: int,
    lengths: PromptLengths,
    most_tokens: int,
    held_out: list[str],
) -> tuple[pl.DataFrame, GeneralSummary]:
    """Read, scrub and choose the general instructions; only the chosen ones are in memory."""
    wanted = max(1, round(config.share / (1 - config.share) * training_rows))
    first = _First(wanted, seed)
    read, too_long, known = 0, 0, 0
    lines = stream_json_lines(config.file, Instruction, "general instructions")
    while part := list(islice(lines, ROWS_AT_ONCE)):
        clean = _scrubbed(part)
        table = pl.DataFrame([row for row, _ in clean], INSTRUCTION_COLUMNS, orient="row")
        is_long = lengths.too_long(table, most_tokens)
        is_known = _tells(table, held_out)
        read += len(clean)
        too_long += int(is_long.sum())
        known += int((is_known & ~is_long).sum())
        for (row, replaced), out in zip(clean, is_long | is_known, strict=True):
            if not out:
                first.offer(row, replaced)
    chosen = first.in_order()
    if not chosen:
        raise InputError(f"no instruction of {config.file} can be used; bring others or leave curate.general out")
    scrubbed = sum((each.replaced for each in chosen), Counter[Kind]())
    table = pl.DataFrame([each.row for each in islice(cycle(chosen), wanted)], INSTRUCTION_COLUMNS, orient="row")
    return table, GeneralSummary(
        name=config.name,
        licence=config.licence,
        share=config.share,
        rows=table.height,
        read=read,
        drawn=len(chosen),
        too_long=too_long,
        copies=sum(each.copies for each in chosen),
        held_out=known,
        scrubbed=dict(sorted(scrubbed.items())),
    )


def write_general(
    config: GeneralConfig, training_rows: int, seed: int, lengths: PromptLengths, most_tokens: int, folder: Path
) -> GeneralSummary:
    """Write the chosen instructions into a dataset's folder, and return their part of its summary."""
    table, summary = take_general(config, training_rows, seed, lengths, most_tokens, _held_out(folder))
    with open_parquet(folder / GENERAL_FILE, INSTRUCTION_COLUMNS) as file:
        file.add(table)
    return summary


def _held_out(folder: Path) -> list[str]:
    splits = [pl.read_parquet(split_file(folder, split), columns=["prompt"], glob=False) for split in DRAWN]
    sentences: list[str] = _sentences(pl.concat(splits)["prompt"]).to_list()
    return sentences


def _tells(table: pl.DataFrame, held_out: list[str]) -> pl.Series:
    """Mark the instructions that contain all words of a held-out prompt in sequence, in any of their texts."""
    searched = held_out or [NOTHING]
    found = [_sentences(table[column]).str.contains_any(searched) for column in INSTRUCTION_COLUMNS]
    return pl.select(pl.any_horizontal(found)).to_series()


def _sentences(texts: pl.Series) -> pl.Series:
    """Return the words of texts, with a space before and behind each."""
    marked = with_words(texts.rename("prompt").to_frame())
    return marked.select(pl.format(" {} ", pl.col("words").list.join(" "))).to_series()


def _scrubbed(part: list[Instruction]) -> list[tuple[Row, Counter[Kind]]]:
    table = pl.DataFrame(
        [(each.system, each.prompt, each.completion) for each in part], INSTRUCTION_COLUMNS, orient="row"
    )
    rows = zip(*(scrub_column(column) for column in table), strict=True)
    return [
        ((system, prompt, completion), in_system + in_prompt + in_completion)
        for (system, in_system), (prompt, in_prompt), (completion, in_completion) in rows
    ]


@dataclass
class _Held:
    row: Row
    replaced: Counter[Kind]
    copies: int = 0


class _First:
    """Bounded set of the first rows by place, each prompt once.

    A prompt's copies share its place: while it is held they are recognized as copies, and once it was displaced their
    place is too late as well.
    """

    def __init__(self, most: int, seed: int) -> None:
        self._most = most
        self._seed = seed
        self._held: dict[int, _Held] = {}
        self._last_first: list[int] = []
        """A heap of the held places, negated, because heapq keeps the smallest on top."""

    def offer(self, row: Row, replaced: Counter[Kind]) -> None:
        place = self._place(row)
        held = self._held.get(place)
        if held is not None:
            held.copies += 1
            # Among copies with several answers the choice must not depend on their order in the file.
            if row < held.row:
                held.row, held.replaced = row, replaced
            return
        if len(self._held) == self._most:
            displaced = -heapq.heappushpop(self._last_first, -place)
            if displaced == place:
                return
            del self._held[displaced]
        else:
            heapq.heappush(self._last_first, -place)
        self._held[place] = _Held(row, replaced)

    def in_order(self) -> list[_Held]:
        return [self._held[place] for place in sorted(self._held)]

    def _place(self, row: Row) -> int:
        return int.from_bytes(hashlib.sha256(f"{self._seed}:{row[1]}".encode()).digest())
