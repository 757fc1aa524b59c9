"""Prompts of insights: a period and a small table, as one copies it from a spreadsheet or as the store has it."""

import random
import re
from collections.abc import Iterator
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from schemas.store.store import Store
from tasks.commerce.example import Example
from tasks.commerce.inputs import LONGEST_TEXT, Name, TaskInputs
from tasks.commerce.insights.store_facts import fact_tables, figures_text
from tasks.commerce.insights.table import MAX_ROWS
from tasks.commerce.text.lexicons import read_wording

DATA_FILES: Final = ("data/wordings/insights.toml",)
_BETWEEN_CELLS: Final = re.compile(r"[|;\t]")
_RULE: Final = re.compile(r"[\s|:+-]*-[\s|:+-]*")
"""The line that only separates a Markdown table's header from its rows."""
_SEPARATOR: Final = re.compile(r"^\ufeff?(?:sep=.\r?\n)?")
"""Before the header of a spreadsheet's export."""


def normalized_table(text: str) -> str:
    """Return a table with ` | ` between its cells; it may be written with tabs, semicolons or as Markdown.

    Raises:
        ValueError: It has no rows, too many, or rows that are not as wide as its header.
    """
    lines = [line.strip(" ") for line in _SEPARATOR.sub("", text).splitlines() if line.strip()]
    lines = [line for number, line in enumerate(lines) if number != 1 or not _RULE.fullmatch(line)]
    if lines and lines[0].startswith("|"):
        # Signs that stand around the lines, and not between cells.
        lines = [line.removeprefix("|").removesuffix("|") for line in lines]
    rows = [[" ".join(cell.split()) for cell in _BETWEEN_CELLS.split(line)] for line in lines]
    if len(rows) < 2:
        raise ValueError("a table has a line with the columns' names and at least one row, with |, ; or tabs between")
    if len(rows) > MAX_ROWS + 1:
        raise ValueError(f"the table has {len(rows) - 1} rows, and at most {MAX_ROWS} are read")
    width = len(rows[0])
    if width < 2:
        raise ValueError("a table has a column of names and one of numbers")
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise ValueError(f"line {number} of the table has {len(row)} cells, and its header {width}")
    return "\n".join(" | ".join(row) for row in rows)


class InsightsInputs(TaskInputs):
    """Inputs of one analysis."""

    period: Name = Field(description="The period, such as `jan/2025 a mar/2025`")
    table: Annotated[str, Field(max_length=LONGEST_TEXT), AfterValidator(normalized_table)] = Field(
        description="The table: a line of column names, then a line a row, with |, ; or tabs between cells"
    )

    def prompt(self, instruction: str) -> str:
        """Return the prompt."""
        return f"{instruction}\n{figures_text(self.period, self.table)}"


WORDING: Final = read_wording("insights")
MISSES: Final = 1_000
"""Consecutive draws without a new prompt after which the store counts as exhausted."""


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield examples on small tables, whose references are the tables' cells; a table repeats in another wording only.

    There are at most `count`, and fewer where hardly any draw is new.
    """
    seen: set[int] = set()
    misses = 0
    for table in fact_tables(store, generator) if count else ():
        prompt = f"{generator.choice(WORDING.instructions)}\n{table.text}"
        digest = hash(prompt)
        if digest in seen:
            misses += 1
            if misses == MISSES:
                return
            continue
        misses = 0
        seen.add(digest)
        yield Example("insights", WORDING.system, prompt, {"facts": list(table.cells)})
        if len(seen) == count:
            return
