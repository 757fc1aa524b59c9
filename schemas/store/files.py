"""Store as a folder of CSV files, with the names and the format of Olist's on Kaggle.

No message repeats a cell: where a row is shifted, a review's text is in any column.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl
from polars.exceptions import ComputeError, NoDataError

from schemas.disk import synchronize
from schemas.errors import InputError
from schemas.store.store import FILE_NAMES, Store, require_tables
from schemas.tables.delimited import read_delimited
from schemas.tables.table_check import FIRST_ROW, shown_column, table_faults

TIMESTAMP_FORMAT: Final = "%Y-%m-%d %H:%M:%S"
# polars reads "17" as the year 17 if the format has a four-digit year.
FIRST_YEAR: Final = 1970
_KINDS: Final[Mapping[Any, str]] = {
    pl.Boolean: "true or false",
    pl.Datetime: "a time such as 2018-01-31 23:59:59",
    pl.Int64: "a whole number",
    pl.Float64: "a number",
}


def read_store(folder: Path) -> Store:
    """Read and check every table of a store; a refusal names file, column and row, of which the header is the first."""
    names = require_tables(folder)
    tables = {table: read_table(folder / name, table) for table, name in FILE_NAMES.items() if name in names}
    _check_links(folder, tables)
    return Store(**tables)


def write_store(store: Store, folder: Path) -> None:
    """Write every table that the store has; equal stores give equal bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    for table, name in FILE_NAMES.items():
        frame: pl.DataFrame | None = getattr(store, table)
        if frame is not None:
            # Not with polars: its error on a full disk is not an OSError.
            (folder / name).write_bytes(frame.write_csv(datetime_format=TIMESTAMP_FORMAT).encode())


def replace_store(store: Store, folder: Path) -> None:
    """Write a store in place of another, whose other files stay: killed, `finish_replacement` leaves one of the two.

    Its tables go together: ids that are in one and not in the other would break both.
    """
    draft = folder.with_name(f".{folder.name}.draft")
    if draft.exists():
        shutil.rmtree(draft)
    shutil.copytree(folder, draft)
    write_store(store, draft)
    for path in (*draft.iterdir(), draft):
        synchronize(path)
    draft.replace(_whole(folder))
    finish_replacement(folder)


def finish_replacement(folder: Path) -> None:
    """Put a store in its place that a killed process had written whole, and remove the one before."""
    old = folder.with_name(f".{folder.name}.old")
    if _whole(folder).exists():
        if folder.exists():
            folder.replace(old)
        _whole(folder).replace(folder)
        synchronize(folder.parent)
    if old.exists():
        shutil.rmtree(old)


def _whole(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.new")


def read_table(path: Path, table: str) -> pl.DataFrame:
    """Read one CSV file and check it against the model of the table."""
    from schemas.store.tables import TABLES

    columns = TABLES[table].columns
    text = _read_texts(path)
    missing = [name for name, column in columns.items() if column.required and name not in text.columns]
    unknown = [name for name in text.columns if name not in columns]
    if missing or unknown:
        faults = [f"no column {', '.join(missing)}"] * bool(missing)
        faults += [f"an unknown column {', '.join(map(shown_column, unknown))}"] * bool(unknown)
        raise InputError(f"{path} has {' and '.join(faults)}; its header must be {','.join(columns)}")
    frame = text.select(
        _typed(path, text[name], column.dtype) for name, column in columns.items() if name in text.columns
    )
    if faults := table_faults(frame, TABLES[table], range(FIRST_ROW, FIRST_ROW + frame.height)):
        raise InputError(f"{path}: {'; '.join(faults)}; correct it")
    return frame


def _read_texts(path: Path) -> pl.DataFrame:
    if path.is_dir():
        # The reader would look for tables in it.
        raise InputError(f"{path} is a folder and not a CSV file; put the table there by this name")
    try:
        text = pl.read_csv(path, infer_schema=False)
    except NoDataError:
        raise InputError(f"{path} is empty; export it again") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check that it is a file you may read") from None
    except ComputeError:
        # The reader's own message does not say where the fault is, and repeats the content.
        read_delimited(path)
        raise InputError(f"{path} is malformed CSV; export it again as UTF-8 CSV") from None
    if text.height and text.to_series(-1).null_count():
        # The reader fills a row that is too short with nulls, which a schema may allow.
        read_delimited(path)
    return text


def _typed(path: Path, text: pl.Series, dtype: pl.DataType) -> pl.Series:
    if dtype == pl.Boolean:
        values = text.replace_strict({"true": True, "false": False}, default=None, return_dtype=pl.Boolean)
    elif dtype == pl.Datetime:
        moments = text.str.to_datetime(TIMESTAMP_FORMAT, strict=False)
        values = moments.set(moments.dt.year() < FIRST_YEAR, None)
    elif dtype == pl.Float64:
        numbers = text.cast(pl.Float64, strict=False)
        values = numbers.set(~numbers.is_finite(), None)
    else:
        values = text.cast(dtype, strict=False)
    broken = values.is_null() & text.is_not_null()
    if broken.any():
        _refuse(path, broken, f"column {text.name}", f"is not {_KINDS[dtype.base_type()]}; correct it")
    return values


def _check_links(folder: Path, tables: Mapping[str, pl.DataFrame]) -> None:
    from schemas.store.tables import LINKS

    for table, column, other in LINKS:
        if table in tables:
            strangers = ~tables[table][column].is_in(tables[other][column].implode())
            fault = f"is in no row of {FILE_NAMES[other]}; correct it"
            _refuse(folder / FILE_NAMES[table], strangers, f"column {column}", fault)


def _refuse(path: Path, broken: pl.Series, place: str, fault: str) -> None:
    rows = broken.arg_true()
    if len(rows):
        more = f" (and {len(rows) - 1} more rows)" if len(rows) > 1 else ""
        raise InputError(f"{path}: {place}, row {rows[0] + FIRST_ROW}{more} {fault}")
