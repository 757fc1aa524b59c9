"""Store of a shop's files: its tables in our columns, each row once, and every link between them kept."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl

from schemas.errors import InputError
from schemas.store.column_map import (
    CANCELED,
    CANCELED_DATE,
    ORDER_STATUSES,
    OTHER_STATUSES,
    QUANTITY,
    REFUNDED,
    TABLE_NAMES,
    MappedTableFile,
)
from schemas.store.store import HIDDEN_TABLES, Store
from schemas.store.tables import LINKS, TABLES
from schemas.tables.table_check import table_faults
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.text_form import fold
from tasks.synthesize.own.cells import (
    ColumnCells,
    DateOrder,
    as_flags,
    as_identifiers,
    as_moments,
    as_numbers,
    as_whole_numbers,
    date_order,
)
from tasks.synthesize.own.identities import KINDS
from tasks.synthesize.own.opened import OwnFiles

DATA_FILES: Final = ("data/lexicons/states.txt",)
ROW: Final = "row"  # Column with the number of a row in its file, from 0.
ORDER_OF_ITS_OWN: Final = "pedido {}"
"""Person of an order that names none: no other order's, and no id of a customer."""
TELLING: Final[Mapping[str, tuple[str, ...]]] = {
    "items": ("product_id", "price"),
    "payments": ("payment_type", "payment_value"),
    "reviews": ("review_score", "review_comment_title", "review_comment_message"),
}
"""Columns without any of which a row of a flat file is no row of the table: an order without a review, say."""
LATER: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "orders": ("order_purchase_timestamp", ("order_approved_at", "order_delivered_customer_date")),
    "reviews": ("review_creation_date", ("review_answer_timestamp",)),
}
"""Moments, and those that are never before them."""
KINDS_OF_NO_STORE: Final[Mapping[str, Any]] = {
    QUANTITY: pl.Int64(),
    REFUNDED: pl.Float64(),
    CANCELED_DATE: pl.Datetime("us"),
    **dict.fromkeys(OTHER_STATUSES, pl.String()),
}
MOST_PIECES: Final = 10_000
NUMBER_IN_ORDER: Final = pl.int_range(1, pl.len() + 1).over("order_id")


def own_store(own: OwnFiles) -> Store:
    """Return the store of a shop's files; tables that are not mapped are empty, but for rows that others name."""
    files: dict[str, MappedTableFile] = {file.table: file for file in own.column_map.tables}
    tables = _with_named_rows(_with_persons({name: _read_table(own, file) for name, file in files.items()}))
    for name, file in files.items():
        _check(own, file, tables[name])
    _check_links(own, files, tables)
    empty = {name: pl.DataFrame(schema=TABLES[name].types) for name in TABLE_NAMES if name not in HIDDEN_TABLES}
    return Store(**empty | {name: table.drop(ROW) for name, table in tables.items()})


def _read_table(own: OwnFiles, file: MappedTableFile) -> pl.DataFrame:
    """Return a table with all its columns and the number of each row in its file."""
    schema = TABLES[file.table].types
    identities = own.identities(file)
    cells = {ours: own.cells(file, name, ours) for ours, name in file.columns.items() if ours not in KINDS}
    kinds = {**schema, **KINDS_OF_NO_STORE}
    order = date_order((each for ours, each in cells.items() if kinds[ours] == pl.Datetime), file.dates)
    values = {ours: _typed(ours, each, kinds[ours], file, order).alias(ours) for ours, each in cells.items()}
    _refuse_values_of_no_store(cells, values)
    columns = {ROW: pl.int_range(own.rows(file), eager=True), **identities, **values}
    read = pl.DataFrame({name: column.alias(name) for name, column in columns.items()})
    read = _with_rows_alone(own, file, read.select(ROW, *(n for n in kinds if n in read.columns)))
    absent = [pl.lit(None, kind).alias(name) for name, kind in schema.items() if name not in read.columns]
    return _in_time(file.table, read.with_columns(absent).select(ROW, *schema))


def _refuse_values_of_no_store(cells: Mapping[str, ColumnCells], values: Mapping[str, pl.Series]) -> None:
    """Refuse wrong values in columns that no store has, and so no table's schema checks."""
    for name, column in values.items():
        right, what = pl.Series([True]), ""
        if name in OTHER_STATUSES:
            what = f"one of {', '.join(ORDER_STATUSES)} (translate it by [tables.values.{name}])"
            right = column.is_in(ORDER_STATUSES)
        elif name == QUANTITY:
            right, what = column.is_between(0, MOST_PIECES), f"a number of pieces from 0 to {MOST_PIECES:,}"
        cells[name].refuse(~right.fill_null(value=True), what)


def _typed(ours: str, cells: ColumnCells, kind: Any, file: MappedTableFile, order: DateOrder) -> pl.Series:
    if kind == pl.Datetime:
        return as_moments(cells, order)
    if kind in (pl.Int64, pl.Float64):
        return (as_whole_numbers if kind == pl.Int64 else as_numbers)(cells, file.decimals)
    return as_flags(cells) if kind == pl.Boolean else _text(ours, cells)


def _text(ours: str, cells: ColumnCells) -> pl.Series:
    if ours.startswith("review_"):
        return cells.texts
    if ours in ("main_complaint", "complaint_words"):
        # An empty cell is no complaint: of a review in this table everything is known.
        return cells.texts.fill_null("")
    stripped = as_identifiers(cells)
    if ours.endswith("_state"):
        return _states(stripped)
    if ours.endswith("_zip_code_prefix"):
        # A spreadsheet strips the zero of São Paulo's codes. The whole code may be that of a single house.
        digits = stripped.str.replace_all(r"\D", "").str.replace(r"^(\d{4}|\d{7})$", "0${1}")
        return digits.str.slice(0, 5)
    return stripped


def _states(names: pl.Series) -> pl.Series:
    """Return the codes of states, which may be written as names."""
    codes: dict[str, str] = {}
    for line in read_lexicon("states"):
        code, name = line.split(" = ", 1)
        codes |= {fold(code): code, fold(f"BR-{code}"): code, fold(name): code}
    known = {name: codes.get(fold(name), name) for name in names.drop_nulls().unique(maintain_order=True)}
    return names.replace_strict(known, default=None, return_dtype=pl.String) if known else names


def _with_rows_alone(own: OwnFiles, file: MappedTableFile, read: pl.DataFrame) -> pl.DataFrame:
    """Return each row of the table once, numbered where the file numbers none."""
    schema = TABLES[file.table]
    keys = schema.unique or [name for name, column in schema.columns.items() if column.unique]
    key = [name for name in keys if name in read.columns]
    telling = [name for name in TELLING.get(file.table, [n for n in read.columns if n != ROW]) if name in read.columns]
    read = read.filter(~pl.all_horizontal(pl.col(telling).is_null()))
    of_orders = {each.path for each in own.column_map.tables if each.table == "orders"}
    if file.table == "customers" and file.path in of_orders:
        # A row of a flat file is an order's, which may name no customer.
        read = read.drop_nulls("customer_id")
    for name in key:
        empty = read.filter(pl.col(name).is_null())[ROW]
        if len(empty):
            where = own.cells(file, file.columns.get(name) or next(iter(file.columns.values())), name)
            raise InputError(f"{where.place}: {where.row(empty[0])} is empty, and it identifies the row; correct it")
    if file.table == "items":
        return _numbered_items(read)
    if file.table == "payments" and "payment_sequential" not in read.columns:
        return _refunded(_different(read).with_columns(payment_sequential=NUMBER_IN_ORDER))
    if file.table == "reviews" and "review_id" not in file.columns:
        # An order's first review has the order's id.
        numbered = pl.concat_str("review_id", NUMBER_IN_ORDER.cast(pl.String), separator="-")
        own_id = pl.when(NUMBER_IN_ORDER > 1).then(numbered).otherwise("review_id")
        return _different(read).with_columns(review_id=own_id)
    merged = _merged(own, file, read, key)
    return _refunded(merged) if file.table == "payments" else _canceled(merged) if file.table == "orders" else merged


def _refunded(payments: pl.DataFrame) -> pl.DataFrame:
    """Take what was paid back off what was paid: a payment of less than nothing is such a refund, too."""
    paid, back = pl.col("payment_value").fill_null(0), pl.col(REFUNDED) if REFUNDED in payments.columns else pl.lit(0.0)
    refunds = payments.with_columns(back=back.abs().fill_null(0) - paid.clip(upper_bound=0))
    if not (refunds["back"] > 0).any():
        return payments.drop(REFUNDED, strict=False)
    order, positive = "order_id", paid.clip(lower_bound=0)
    left = (pl.col("back").sum().over(order) - (positive.cum_sum() - positive).over(order)).clip(lower_bound=0)
    kept = refunds.with_columns(payment_value=(positive - left).clip(lower_bound=0).round(2), was=paid)
    return kept.filter(pl.col("was") >= 0).drop("was", "back", REFUNDED, strict=False)


def _canceled(orders: pl.DataFrame) -> pl.DataFrame:
    """Give each order the status `canceled` that another of its columns tells."""
    told = [pl.col(name) == CANCELED for name in OTHER_STATUSES if name in orders.columns]
    told += [pl.col(CANCELED_DATE).is_not_null()] if CANCELED_DATE in orders.columns else []
    if not told:
        return orders
    status = pl.col("order_status") if "order_status" in orders.columns else pl.lit(None, pl.String)
    is_canceled = pl.any_horizontal(told).fill_null(value=False)
    return orders.with_columns(order_status=pl.when(is_canceled).then(pl.lit(CANCELED)).otherwise(status))


def _numbered_items(read: pl.DataFrame) -> pl.DataFrame:
    """Return a row a piece: a line of three pieces is three items, the first of which carries its freight."""
    if QUANTITY in read.columns:
        read = read.with_columns(piece=pl.int_ranges(0, pl.col(QUANTITY).fill_null(1)))
        read = read.explode("piece").drop_nulls("piece")
        if "freight_value" in read.columns:
            first = pl.when(pl.col("piece") == 0).then("freight_value")
            read = read.with_columns(freight_value=first.otherwise(pl.col("freight_value") * 0))
        read = read.drop([name for name in (QUANTITY, "piece", "order_item_id") if name in read.columns])
    if "order_item_id" in read.columns:
        return read
    return read.with_columns(order_item_id=NUMBER_IN_ORDER)


def _different(read: pl.DataFrame) -> pl.DataFrame:
    return read.unique([name for name in read.columns if name != ROW], keep="first", maintain_order=True)


def _merged(own: OwnFiles, file: MappedTableFile, read: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """Return one row a key, with what any of its rows says."""
    if not read.select(key).is_duplicated().any():
        return read
    others = [name for name in read.columns if name not in {ROW, *key}]
    grouped = read.group_by(key, maintain_order=True)
    differ = grouped.agg(pl.col(others).drop_nulls().n_unique())
    for name in others:
        several = differ.filter(pl.col(name) > 1)
        if several.height:
            group = read.join(several.head(1).select(key), on=key, how="semi").drop_nulls(name)
            first, second = group.unique(name, keep="first", maintain_order=True)[ROW][:2]
            cells = own.place(file)
            raise InputError(
                f"{file.path}: {cells.row(first)} and {cells.row(second)} have the same {' and '.join(key)} in table "
                f"{file.table} and another {name}{_more(several.height)}; an id names one row: correct one of them"
            )
    return grouped.agg(pl.col(ROW).first(), pl.col(others).drop_nulls().first())


def _more(count: int) -> str:
    return f" (and {count - 1:,} more)" if count > 1 else ""


def _in_time(table: str, read: pl.DataFrame) -> pl.DataFrame:
    """Move a date without a time, which counts as midnight, to the moment of that day that it cannot be before."""
    first, others = LATER.get(table, ("", ()))
    for name in others:
        later = pl.col(name)
        is_date = (later.dt.truncate("1d") == later) & (later.dt.date() == pl.col(first).dt.date())
        read = read.with_columns(pl.when(is_date).then(pl.max_horizontal(name, first)).otherwise(name).alias(name))
    return read


def _with_persons(tables: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Give each order without a customer one of its own, and each customer without a person another."""
    found = dict(tables)
    if "orders" in found:
        own = pl.format(ORDER_OF_ITS_OWN, "order_id")
        orders = found["orders"] = found["orders"].with_columns(pl.col("customer_id").fill_null(own))
        if "customers" in found:
            alone = orders.filter(pl.col("customer_id") == own)
            strangers = alone.join(found["customers"], on="customer_id", how="anti").select(ROW, "customer_id")
            found["customers"] = pl.concat([found["customers"], strangers], how="diagonal")
    if "customers" in found:
        person = pl.col("customer_unique_id").fill_null(pl.format(ORDER_OF_ITS_OWN, "customer_id"))
        found["customers"] = found["customers"].with_columns(person)
    return found


def _with_named_rows(tables: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Add the customers, products and sellers that are named by others and have no file: their ids are all of them."""
    found = dict(tables)
    if "items" in found:
        found["items"] = found["items"].with_columns(pl.col("seller_id").fill_null("loja"))
    for name, column, of_table in (
        ("customers", "customer_id", "orders"),
        ("products", "product_id", "items"),
        ("sellers", "seller_id", "items"),
    ):
        if name not in found and of_table in found:
            ids = found[of_table].select(ROW, column).drop_nulls().unique(column, keep="first", maintain_order=True)
            same = {column, "customer_unique_id"}
            columns = {n: pl.col(column) if n in same else pl.lit(None, kind) for n, kind in TABLES[name].types.items()}
            found[name] = ids.select(ROW, **columns)
    return found


def _check(own: OwnFiles, file: MappedTableFile, table: pl.DataFrame) -> None:
    if table.is_empty():
        raise InputError(f"{file.path} has no row for table {file.table}; correct the column map, or leave it out")
    first = own.place(file).header + 1
    faults = table_faults(table.drop(ROW), TABLES[file.table], (table[ROW] + first).to_list())
    if faults:
        raise InputError(
            f"{file.path} as table {file.table}: {'; '.join(faults)}; correct it, or translate values in the column "
            f"map by [tables.values.COLUMN]"
        )


def _check_links(own: OwnFiles, files: Mapping[str, MappedTableFile], tables: Mapping[str, pl.DataFrame]) -> None:
    for name, column, other in LINKS:
        if (file := files.get(name)) is None:
            continue
        if other not in tables:
            raise InputError(
                f"{file.path} as table {name} names rows of {other} by {column}, and the column map has no table "
                f"{other}; add it, or remove the `#` of its lines where they wait to be confirmed"
            )
        strangers = ~tables[name][column].is_in(tables[other][column].implode())
        rows = tables[name].filter(strangers)[ROW]
        if len(rows):
            row = f"{own.place(file).row(rows[0])}{_more(len(rows))}"
            raise InputError(
                f"{file.path} as table {name}: the {column} of {row} is in no row of table {other}; export both of the "
                "same span"
            )
