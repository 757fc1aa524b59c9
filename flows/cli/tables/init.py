"""Tables of `tucano init`: what each file's columns are, and which tasks can be trained on them."""

from collections.abc import Sequence
from typing import Final

from flows.runtime.console import print_table, show
from schemas.shown_text import as_shown
from tasks.synthesize.columns.choices import ColumnChoice
from tasks.synthesize.columns.profile import ShopPlan
from tasks.synthesize.columns.recognize import Recognized
from tasks.synthesize.columns.undecided import undecided

MOST_NAMED: Final = 10
"""Columns of a kind that are named on the terminal; the column map names all."""


def print_files(recognized: Recognized) -> None:
    """Print for each file what was recognised, what is to be confirmed, and what is left out."""
    for file in recognized.files:
        sections = [section for section in recognized.sections if section.file is file]
        show(f"{file.path}: {file.cells.height:,} rows, {file.cells.width} columns")
        for section in sections:
            kind = "table" if section.is_table else "prompts of"
            by = f", as {section.shipped} exports it" if section.shipped else ""
            sure = [as_shown(_pair(choice)) for choice in section.choices if choice.sure]
            show(f"  {kind} {section.name}{by}: {', '.join(sure) or 'nothing is sure'}")
            for line, why in (
                *((_pair(choice), choice.why) for choice in section.choices if not choice.sure),
                *undecided(section),
            ):
                show(as_shown(f"  - to confirm: {line}: {why}"))
        if not sections:
            show("  nothing was recognised")
        for what, columns in (
            ("not recognised", recognized.unused(file)),
            ("not read, though they may tell of canceled sales, which count", recognized.unread_statuses(file)),
            ("a person's own, and left out", recognized.personal(file)),
            ("objects, and left out", file.nested),
        ):
            if columns:
                show(as_shown(f"  {what}: {_some(columns)}"))


def print_tasks(planned: ShopPlan) -> None:
    """Print which tasks can be trained, and what the others lack."""
    print_table(
        "Tasks that these files can train",
        ("task", "rows", "prompts", "missing"),
        [
            (each.task, "any" if each.from_tables else f"{each.rows or 0:,}", str(each.count), each.missing or "")
            for each in planned.tasks
        ],
        texts=("missing",),
    )


def _pair(choice: ColumnChoice) -> str:
    return choice.ours if choice.ours == choice.theirs else f"{choice.ours} = {choice.theirs}"


def _some(columns: Sequence[str]) -> str:
    more = f" and {len(columns) - MOST_NAMED} more" if len(columns) > MOST_NAMED else ""
    return f"{', '.join(columns[:MOST_NAMED])}{more}"
