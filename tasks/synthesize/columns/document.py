"""Column map as a text: what is sure, each with its reason, and what a person must confirm, as comments."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from schemas.store.mapped_tables import ORDER_STATUSES
from tasks.synthesize.columns.choices import ColumnChoice
from tasks.synthesize.columns.recognize import MapSection, Recognized, undecided

_HEAD: Final = """\
# Column map, written by `tucano init`: a key is a column of ours, its value the column of your file. Read it before it
# is used. A line with `# confirm` is not used until you remove its first `#`, and a status with such values is refused
# until you do: orders that are canceled by it would count. What the columns mean: docs/your-data.md.
"""


def column_map_text(recognized: Recognized, folder: Path, *, confirmed: bool = False) -> str:
    """Return the column map, with paths relative to its folder.

    With `confirmed`, dates and decimals are as proposed where no cell tells them, and what tells of canceled orders is
    left out where it waits to be completed.
    """
    parts = ["\n".join(_section(section, folder, confirmed=confirmed)) for section in recognized.sections]
    for file in recognized.files:
        lines = [f"# - {why}: {', '.join(map(_quoted, names))}" for why, names in recognized.left_out(file).items()]
        parts += ["\n".join([f"# {_quoted(file.path.name)}:", *lines])] * bool(lines)
    return "\n\n".join([_HEAD.rstrip(), *parts]) + "\n"


def _section(section: MapSection, folder: Path, *, confirmed: bool) -> Iterator[str]:
    kind = "tables" if section.is_table else "prompts"
    # A section that is not sure as a whole would be refused without the columns that are to be confirmed.
    mark = "" if section.is_sure else "# "
    if mark:
        yield "# confirm this whole section: remove the first `#` of each line that is right"
    path = os.path.relpath(section.file.path.resolve(), folder.resolve())
    yield f"{mark}[[{kind}]]"
    yield f"{mark}{'table' if section.is_table else 'task'} = {_quoted(section.name)}"
    yield f"{mark}path = {_quoted(Path(path).as_posix())}"
    open_mark = mark if confirmed else "# "
    yield from (f"{open_mark}{line}  # confirm: {why}" for line, why in undecided(section))
    marks = {each.ours: mark if each.sure or (each.waits and not confirmed) else "# " for each in section.choices}
    for name, choices in (("columns", section.columns), ("reference", section.reference)):
        if choices:
            yield f"{mark}[{kind}.{name}]"
            yield from (_line(choice, marks[choice.ours]) for choice in choices)
    for choice in section.choices:
        if choice.values or choice.unknown:
            comment = marks[choice.ours]
            yield f"{comment}[{kind}.values.{choice.ours}]"
            yield from (f"{comment}{_quoted(theirs)} = {_quoted(ours)}" for theirs, ours in choice.values.items())
            meant = f"one of {', '.join(ORDER_STATUSES)}" if choice.waits else "one of ours"
            for theirs, ours in choice.unknown.items():
                yield f"# {_quoted(theirs)} = {_quoted(ours)}  # confirm: {meant}, or nothing"


def _line(choice: ColumnChoice, mark: str) -> str:
    line = f"{choice.ours} = {_quoted(choice.theirs)}"
    if choice.waits and not mark:
        return f"{line}  # or remove this line: {choice.why}"
    return f"{mark}{line}  # {choice.why}" if choice.sure else f"# {line}  # confirm: {choice.why}"


def _quoted(text: str) -> str:
    """Return a basic string of TOML: JSON's escapes are TOML's, but for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
