"""Sheets and references of people, without a person: their rows leave, and every other byte stays as it was."""

import csv
import io
from collections.abc import Collection, Iterator
from pathlib import Path

from schemas.disk import locked, replace_whole
from schemas.errors import InputError
from schemas.given_references import GivenReference
from schemas.json_lines import stream_lines
from schemas.tables.delimited import read_text
from schemas.tables.spreadsheet import header_of
from tasks.audit.sheet import COLUMNS, as_kept, read_rows

_PROMPT = COLUMNS.index("prompt_id")


def remove_prompts(sheet: Path, prompts: Collection[str]) -> int:
    """Take the rows of some prompts out of a sheet that people score, and return their number.

    The file is replaced as a whole or not at all.

    Raises:
        InputError: The sheet cannot be read or written.
    """
    try:
        with locked(sheet):
            for left in sheet.parent.glob(f".{sheet.name}.*.draft"):
                # Of a process that was killed while it wrote the sheet as it was.
                left.unlink()
            source = read_text(sheet)
            delimiter, _ = header_of(source, COLUMNS)
            header, *rows = _records(source.text, delimiter)
            kept = [text for text, cells in rows if len(cells) <= _PROMPT or as_kept(cells[_PROMPT]) not in prompts]
            if any(cells for _, cells in rows):
                # A faulty sheet may have a person's rows where nobody looks for them.
                read_rows(sheet)
            if len(kept) < len(rows):
                # Above the text may be a line that names the delimiter, as Excel's `sep=;`.
                above = sheet.read_bytes().decode(source.encoding).removesuffix(source.text)
                replace_whole(sheet, "".join((above, header[0], *kept)).encode(source.encoding))
            return len(rows) - len(kept)
    except (ValueError, csv.Error) as error:
        raise InputError(f"sheet {sheet}: {error}; correct it, or save it as CSV again") from None
    except OSError as error:
        raise InputError(
            f"sheet {sheet} cannot be written ({error.strerror or error}); free space or permissions in its folder"
        ) from None


def remove_given(references: Path, prompts: Collection[str]) -> int:
    """Take the lines of some prompts out of a file of references, and return their number.

    A file without any is only read: it may be where nobody writes.

    Raises:
        InputError: The file cannot be read or written.
    """
    file = references.resolve()
    try:
        if not any(given.prompt_id in prompts for _, given in _given(file)):
            return 0
        with locked(file):
            lines = list(_given(file))
            kept = [line for line, given in lines if given.prompt_id not in prompts]
            replace_whole(file, b"".join(kept))
            return len(lines) - len(kept)
    except OSError as error:
        raise InputError(
            f"references {references} cannot be cleaned ({error.strerror or error}); correct curate.references, or "
            "free space or permissions in its folder"
        ) from None


def _given(file: Path) -> Iterator[tuple[bytes, GivenReference]]:
    return stream_lines(file, GivenReference, "references") if file.stat().st_size else iter(())


def _records(text: str, delimiter: str) -> Iterator[tuple[str, list[str]]]:
    taken: list[str] = []

    def lines() -> Iterator[str]:
        for line in io.StringIO(text, newline=""):
            taken.append(line)
            yield line

    for cells in csv.reader(lines(), delimiter=delimiter):
        yield "".join(taken), cells
        taken.clear()
