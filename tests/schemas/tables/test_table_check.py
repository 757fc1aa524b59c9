"""A table's faults are named by column and row, and no value is repeated."""

from typing import Any

import polars as pl

from schemas.store.tables import TABLES
from schemas.tables.table_check import table_faults

GOOD: dict[str, list[Any]] = {
    "order_id": ["a", "b"],
    "payment_sequential": [1, 1],
    "payment_type": ["pix", None],
    "payment_installments": [1, 1],
    "payment_value": [0.5, 1.0],
}


def message(table: pl.DataFrame) -> str:
    return "; ".join(table_faults(table, TABLES["payments"], range(1, table.height + 1)))


def test_every_failure_is_in_one_message_and_no_value_is() -> None:
    found = message(pl.DataFrame({**GOOD, "payment_type": ["poesia", "Maria"], "payment_value": [0.5, -7.25]}))
    assert found.startswith("rows 1, 2: payment_type fails isin")
    assert "row 2: payment_value fails" in found
    assert not any(value in found for value in ("poesia", "Maria", "7.25"))
