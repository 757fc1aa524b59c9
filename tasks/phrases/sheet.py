"""Sheet in which a person approves openers, and the shop's own file, which grows by them."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from schemas.disk import locked, replace_whole
from schemas.errors import InputError
from schemas.faults import first_few
from schemas.tables.delimited import read_delimited
from tasks.commerce.push.own_phrases import OwnOpener
from tasks.phrases.openers import KNOWN, fault_of, known_group

COLUMNS: Final = ("group", "opener", "approved", "by")
YES: Final = frozenset({"sim", "s", "yes", "y"})
NO: Final = frozenset({"", "não", "nao", "n", "no"})


def write_sheet(path: Path, group: str, openers: Sequence[str]) -> None:
    """Write a new sheet.

    Raises:
        InputError: It cannot be written.
    """
    text = io.StringIO(newline="")
    csv.writer(text).writerows([COLUMNS, *((group, opener, "", "") for opener in openers)])
    _grow(path, text.getvalue().encode("utf-8-sig"))


def approved(sheet: Path) -> list[OwnOpener]:
    """Return what a person approved in a sheet and the phrases do not have yet.

    Raises:
        InputError: The sheet cannot be read or lacks a column, a row is faulty, or nothing new is approved.
    """
    table = read_delimited(sheet)
    if lacking := [name for name in COLUMNS if name not in table.columns]:
        raise InputError(f"{sheet} lacks the column {lacking[0]!r}; it must have {', '.join(COLUMNS)}")
    found: list[OwnOpener] = []
    faults = []
    for number, cells in enumerate(table.select(COLUMNS).rows(), 2):
        group, opener, answer, by = ((cell or "").strip() for cell in cells)
        if answer.lower() in NO:
            continue
        fault = fault_of(opener, [each.texto for each in found])
        if answer.lower() not in YES:
            faults.append(f"row {number}: `approved` is no sim, yes, não or no")
        elif not by or not by.isprintable():
            faults.append(f"row {number}: `by` does not say who approved it")
        elif fault is None:
            known_group(group)
            found.append(OwnOpener(grupo=group, texto=opener, por=by))
        elif fault != KNOWN:
            faults.append(f"row {number}: the opener has {fault}")
    if faults:
        raise InputError(f"{sheet}: {first_few(faults)}; correct it")
    if not found:
        raise InputError(f"{sheet} approves nothing new; write `sim` into `approved` and a name into `by`")
    return found


def append(openers: Sequence[OwnOpener], file: Path) -> None:
    """Add openers at the end of the shop's own file, which is made if it is not there.

    Raises:
        InputError: It cannot be written.
        InUse: Another command holds it.
    """
    # A string of JSON is one of TOML.
    text = "".join(
        "\n".join(["", "[[aberturas]]", *(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in each)])
        + "\n"
        for each in openers
    )
    _grow(file, text.encode())


def _grow(file: Path, end: bytes) -> None:
    try:
        with locked(file):
            before = file.read_bytes() if file.exists() else b""
            replace_whole(file, before + end)
    except OSError as error:
        raise InputError(f"{file} cannot be written ({error.strerror}); give the path of another file") from None
