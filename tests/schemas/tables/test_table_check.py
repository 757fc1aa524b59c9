from typing import Any

import pandera.polars as pa
import polars as pl
import pytest
from pydantic import BaseModel

from schemas.documents import LoggedAnswer, PairedScore, Rollout, SheetRow
from schemas.errors import InputError
from schemas.tables.log_table import ProductionLogs
from schemas.tables.rollout_tables import AuditSheet, PairedScores, Rollouts
from schemas.tables.table_check import validate_table

GOOD = {"task": ["push", "churn"], "prompt_id": ["a", "b"], "seed": [1, 1], "sample": [0, 0], "score": [0.5, 1.0]}
COLUMNS = ["prompt_id", "task", "seed", "sample", "score"]
UNKNOWN = [pl.lit(None, pl.Float64).alias("truth")]
UNKNOWN += [pl.lit(None, pl.String).alias("decoding")]


def scores(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame({**GOOD, **columns}).select(*COLUMNS, *UNKNOWN)


def message(table: pl.DataFrame, first_row: int = 1) -> str:
    with pytest.raises(InputError) as caught:
        validate_table(table, PairedScores, "scores x.jsonl", first_row)
    return str(caught.value)


def test_every_failure_is_in_one_message_and_no_value_is() -> None:
    found = message(scores(task=["poesia", "Maria"], score=[0.5, 7.25], prompt_id=["a", None]))
    assert found.startswith("scores x.jsonl: row 2: prompt_id is empty; row 2: score fails in_range")
    assert "rows 1, 2: task fails isin" in found
    assert not any(value in found for value in ("poesia", "Maria", "7.25"))


def test_a_key_that_is_there_twice_is_named_by_its_rows() -> None:
    table = pl.concat([scores(), scores(score=[0.1, 0.2])[1:]])
    assert "rows 2, 3: task, prompt_id, seed, sample together are there more than once" in message(table)


def test_missing_and_unknown_columns_are_named_but_no_text_in_a_header() -> None:
    table = scores().drop("seed", "sample").with_columns(pl.lit(1).alias("extra"), pl.lit(1).alias("meu CPF é 529"))
    found = message(table)
    assert "lacks the column seed" in found
    assert "lacks the column sample" in found
    assert "unknown column extra" in found
    assert "CPF" not in found


@pytest.mark.parametrize(
    ("document", "table"),
    [
        (Rollout, Rollouts),
        (PairedScore, PairedScores),
        (SheetRow, AuditSheet),
        (LoggedAnswer, ProductionLogs),
    ],
)
def test_a_documents_fields_and_its_tables_columns_agree(
    document: type[BaseModel], table: type[pa.DataFrameModel]
) -> None:
    described = document.model_json_schema(mode="validation")["properties"]
    columns = table.to_schema().columns
    assert set(columns) == set(described)
    for name, column in columns.items():
        variants = described[name].get("anyOf", [described[name]])
        assert column.nullable == ({"type": "null"} in variants), name
        limits = variants[0]
        known = {check.name: check.statistics for check in column.checks}
        interval = known.get("in_range", {})
        lowest = interval.get("min_value", known.get("greater_than_or_equal_to", {}).get("min_value"))
        largest = limits.get("maximum")
        assert limits.get("minimum") in (lowest, -(2**63) + 1), name
        assert largest in (interval.get("max_value"), 2**63 - 1), name
        assert limits.get("minLength") == known.get("str_length", {}).get("min_value"), name
        assert limits.get("enum") == (list(known["isin"]["allowed_values"]) if "isin" in known else None), name
