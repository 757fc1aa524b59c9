"""Store as a folder of CSV files, with the names and the format of Olist's on Kaggle."""

import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

import polars as pl
from polars.exceptions import ComputeError, NoDataError

from schemas.disk import synchronize
from schemas.errors import InputError
from schemas.store.faults import FIRST_ROW, first_fault, shown, shown_column
from schemas.store.store import FILE_NAMES, Store, require_tables

TIMESTAMP_FORMAT: Final = "%Y-%m-%d %H:%M:%S"
# polars reads "17" as the year 17 if the format has a four-digit year.
FIRST_YEAR: Final = 1970
WRITTEN_BY_PEOPLE: Final = frozenset({FILE_NAMES["reviews"]})


def read_store(folder: Path, *, complete: bool = False) -> Store:
    """Read and check every table of a store; other files in the folder, such as Olist's geolocation, are ignored.

    Args:
        folder: The folder of its CSV files.
        complete: Whether it must be whole as Olist's is, every table with rows and every column that Olist fills; a
            store of a shop's own files may lack some.

    Raises:
        InputError: The folder cannot be read, lacks a table, or a table breaks its schema; names the file, column and
            row (as a spreadsheet shows it: the header is row 1).
    """
    names = require_tables(folder)
    tables = {
        table: read_table(folder / name, table, complete=complete)
        for table, name in FILE_NAMES.items()
        if name in names
    }
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


def read_table(path: Path, table: str, *, complete: bool = False) -> pl.DataFrame:
    """Read one CSV file and check it against the model of the table.

    Raises:
        InputError: The file cannot be read, is empty, or breaks its schema.
    """
    from schemas.store.tables import TABLES

    schema = TABLES[table].to_schema().columns
    text = _read_text_columns(path)
    _check_columns(path, text, tuple(schema), {name for name, column in schema.items() if not column.required})
    columns = {name: column.dtype.type for name, column in schema.items() if name in text.columns}
    if complete and text.is_empty():
        raise InputError(f"{path} has a header but no rows; export it again")
    _check_widths(path, text)
    frame = text.select(_typed(path, text[name], dtype) for name, dtype in columns.items())
    if complete:
        _check_complete(path, frame, table)
    _check_values(path, frame, table)
    return frame


def _read_text_columns(path: Path) -> pl.DataFrame:
    if path.is_dir():
        # The reader would look for tables in it.
        raise InputError(f"{path} is a folder and not a CSV file; put the table there by this name")
    try:
        return pl.read_csv(path, infer_schema=False)
    except NoDataError:
        raise InputError(f"{path} is empty; export it again") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check that it is a file you may read") from None
    except ComputeError:
        # The reader's own message does not say where the fault is, and repeats the content.
        fault = first_fault(path) or "it is malformed"
        raise InputError(f"{path} cannot be read as CSV: {fault}; export it again as UTF-8 CSV") from None


def _check_widths(path: Path, text: pl.DataFrame) -> None:
    """Refuse rows that are too short: the reader fills them with nulls, which a schema may allow."""
    if text.to_series(-1).null_count() and (fault := first_fault(path)):
        raise InputError(f"{path}: {fault}; correct it")


def _check_columns(path: Path, frame: pl.DataFrame, expected: tuple[str, ...], optional: Collection[str]) -> None:
    missing = [name for name in expected if name not in frame.columns and name not in optional]
    unknown = [name for name in frame.columns if name not in expected]
    if missing or unknown:
        faults = [f"no column {', '.join(missing)}"] * bool(missing)
        faults += [f"an unknown column {', '.join(map(shown_column, unknown))}"] * bool(unknown)
        raise InputError(f"{path} has {' and '.join(faults)}; its header must be {','.join(expected)}")


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
    broken = (values.is_null() & text.is_not_null()).arg_true()
    if len(broken):
        row, more = broken[0], len(broken) - 1
        raise InputError(
            f"{path}: column {text.name}, row {row + FIRST_ROW}: {_shown(path, text[row])} is not {_kind(dtype)}"
            f"{f' (and {more} more rows)' if more else ''}; correct it"
        )
    return values


def _check_complete(path: Path, frame: pl.DataFrame, table: str) -> None:
    from schemas.store.tables import NEVER_EMPTY_IN_OLIST

    for column in NEVER_EMPTY_IN_OLIST.get(table, ()):
        empty = frame[column].is_null().arg_true()
        if len(empty):
            more = f" (and {len(empty) - 1} more failures)" if len(empty) > 1 else ""
            raise InputError(
                f"{path}: column {column}, row {empty[0] + FIRST_ROW} is empty, and it must have a value{more}; "
                "correct it"
            )


def _check_values(path: Path, frame: pl.DataFrame, table: str) -> None:
    from pandera.errors import SchemaErrors

    from schemas.store.tables import TABLES

    try:
        TABLES[table].validate(frame, lazy=True)
    except SchemaErrors as error:
        failures = error.failure_cases.sort("index", "schema_context", "column").to_dicts()
        first, more = failures[0], len(failures) - 1
        raise InputError(
            f"{path}: {_failure(path, first, TABLES[table].to_schema().unique)}"
            f"{f' (and {more} more failures)' if more else ''}; correct it"
        ) from None


def _check_links(folder: Path, tables: Mapping[str, pl.DataFrame]) -> None:
    from schemas.store.tables import LINKS

    for table, column, other in LINKS:
        if table not in tables:
            continue
        strangers = (~tables[table][column].is_in(tables[other][column].implode())).arg_true()
        if len(strangers):
            path, row, more = folder / FILE_NAMES[table], strangers[0], len(strangers) - 1
            value = _shown(path, tables[table][column][row])
            raise InputError(
                f"{path}: column {column}, row {row + FIRST_ROW}: {value} is in no row of "
                f"{FILE_NAMES[other]}{f' (and {more} more rows)' if more else ''}; correct it"
            )


def _failure(path: Path, failure: dict[str, object], key: list[str] | None) -> str:
    row = f"row {int(str(failure['index'])) + FIRST_ROW}"
    check = str(failure["check"])
    if check == "multiple_fields_uniqueness":
        return f"{row}: another row has the same {' and '.join(key or [])}"
    if failure["schema_context"] == "DataFrameSchema":
        return f"{row}: not true: {check.replace('_', ' ')}"
    place = f"column {failure['column']}, {row}"
    if check == "not_nullable":
        return f"{place} is empty, and it must have a value"
    if check == "field_uniqueness":
        return f"{place}: {_shown(path, failure['failure_case'])} is there twice, and it must be unique"
    return f"{place}: {_shown(path, failure['failure_case'])} fails {check}"


def _shown(path: Path, value: object) -> str:
    return shown(value, written_by_people=path.name in WRITTEN_BY_PEOPLE)


def _kind(dtype: pl.DataType) -> str:
    names = {
        pl.Boolean: "true or false",
        pl.Datetime: "a time such as 2018-01-31 23:59:59",
        pl.Int64: "a whole number",
        pl.Float64: "a number",
    }
    return names[dtype.base_type()]
