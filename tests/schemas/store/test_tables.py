import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from schemas.errors import InputError
from schemas.store.files import read_table
from schemas.store.store import FILE_NAMES
from tasks.synthesize.simulated import simulate_store

PURCHASE = pl.col("order_purchase_timestamp")


@pytest.fixture(scope="module")
def orders() -> pl.DataFrame:
    return simulate_store(300, random.Random(0)).orders


def read(folder: Path, table: str, frame: pl.DataFrame) -> pl.DataFrame:
    path = folder / FILE_NAMES[table]
    path.write_bytes(frame.write_csv(datetime_format="%Y-%m-%d %H:%M:%S").encode())
    return read_table(path, table)


def changed(frame: pl.DataFrame, row: int, **values: Any) -> pl.DataFrame:
    """Return the table with other values in one row."""
    is_row = pl.int_range(pl.len()) == row
    return frame.with_columns(pl.when(is_row).then(value).otherwise(name).alias(name) for name, value in values.items())


def row_of(orders: pl.DataFrame, *, delivered: bool) -> int:
    is_delivered = orders["order_status"] == "delivered"
    return int((is_delivered if delivered else ~is_delivered).arg_true()[0])


def test_a_delivered_order_needs_its_date(tmp_path: Path, orders: pl.DataFrame) -> None:
    row = row_of(orders, delivered=True)
    without = changed(orders, row, order_delivered_customer_date=None)
    words = rf"orders_dataset\.csv: row {row + 2}: not true: a delivered order has a delivery date; correct it"
    with pytest.raises(InputError, match=words):
        read(tmp_path, "orders", without)


@pytest.mark.parametrize("column", ["order_approved_at", "order_delivered_customer_date"])
def test_nothing_happens_to_an_order_before_it_is_bought(tmp_path: Path, orders: pl.DataFrame, column: str) -> None:
    row = row_of(orders, delivered=True)
    too_early = changed(orders, row, **{column: PURCHASE - timedelta(seconds=1)})
    with pytest.raises(InputError, match=rf"row {row + 2}: not true: nothing is before the purchase"):
        read(tmp_path, "orders", too_early)
    at_once = changed(orders, row, **{column: PURCHASE})
    assert read(tmp_path, "orders", at_once).equals(at_once)
