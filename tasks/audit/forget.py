"""Sheets and references of people, without a person: their rows leave, and the others stay as they were."""

from collections.abc import Collection, Iterator
from pathlib import Path

from schemas.disk import locked, replace_whole
from schemas.errors import InputError
from schemas.json_lines import stream_lines
from schemas.references import GivenReference
from tasks.audit.labelling import held
from tasks.audit.sheet import read_rows, write_rows


def remove_prompts(sheet: Path, prompts: Collection[str]) -> int:
    """Take the rows of some prompts out of a sheet that people score, and return their number.

    The file is replaced as a whole or not at all. InputError where the sheet cannot be read or written.
    """
    with held(sheet, "sheet"):
        for left in sheet.parent.glob(f".{sheet.name}.*.draft"):
            # Of a process that was killed while it wrote the sheet as it was.
            left.unlink()
        rows = read_rows(sheet, may_be_empty=True)
        kept = [row for row in rows if row["prompt_id"] not in prompts]
        if len(kept) < len(rows):
            write_rows(sheet, kept)
        return len(rows) - len(kept)


def remove_given(references: Path, prompts: Collection[str]) -> int:
    """Take the lines of some prompts out of a file of references, and return their number.

    A file without any is only read: it may be where nobody writes. InputError where the file cannot be read or written.
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
