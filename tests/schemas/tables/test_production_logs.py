import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from schemas.errors import InputError
from schemas.tables.production_logs import read_production_logs


def line(number: int = 1, **values: Any) -> dict[str, Any]:
    return {
        "request_id": f"r{number}",
        "prompt_id": f"p{number}",
        "task": "push",
        "prompt": f"Crie um push {number}",
        "completion": "Oferta!",
        "time": "2026-01-31T23:59:59.5-03:00",
        "model_version": "tucano2 step 40",
        "latency_ms": 812.5,
        **values,
    }


def write(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in lines), encoding="utf-8")
    return path


def nested(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth - 1):
        found = [found]
    return found


def message(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_production_logs(path)
    return str(caught.value)


def test_times_of_every_zone_are_in_utc(tmp_path: Path) -> None:
    lines = [line(1, rating=5, reward=0.25, host="a"), line(2, time="2026-02-01T00:00:00Z"), line(3, latency_ms=1)]
    table = read_production_logs(write(tmp_path / "log.jsonl", *lines))
    assert table.schema["time"] == pl.Datetime("us", "UTC")
    assert table["time"][0] == datetime(2026, 2, 1, 2, 59, 59, 500_000, UTC)
    assert table["time"][1] == datetime(2026, 2, 1, tzinfo=UTC)
    assert table["rating"].to_list() == [5, None, None]
    assert table["reward"].to_list() == [0.25, None, None]
    assert "host" not in table.columns


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"time": "2026-01-31T23:59:59"}, "line 2: time"),
        ({"time": "0001-01-01T00:00:00+14:00"}, "line 2: time: Input should be greater than or equal to 1970"),
        ({"reference": {"product": None, "offer": None, "n": float("nan")}}, "line 2: reference of push: a number"),
        ({"reference": {"product": None, "offer": None, "x": nested(100)}}, "line 2: reference of push: nested more"),
        ({"prompt_id": "p1"}, "row 2: not true: one prompt for each prompt id"),
    ],
)
def test_the_line_that_is_faulty_is_named(tmp_path: Path, values: dict[str, Any], words: str) -> None:
    assert words in message(write(tmp_path / "log.jsonl", line(1), line(2, **values), line(3)))


def parquet(path: Path, table: pl.DataFrame) -> Path:
    table.write_parquet(path)
    return path


def test_a_parquet_file_holds_the_same_as_json_lines(tmp_path: Path) -> None:
    reference = {"product": "vaso", "offer": "20% off"}
    lines = [line(1, cost=0.5, reference=reference, rating=4), line(2, latency_ms=3)]
    table = read_production_logs(write(tmp_path / "log.jsonl", *lines))
    few = table.drop("reward", "prompt_id").with_columns(
        pl.col("time").dt.convert_time_zone("America/Sao_Paulo").dt.cast_time_unit("ms"),
        pl.col("task").cast(pl.Categorical),
        pl.col("rating").cast(pl.Int8),
        pl.lit("kept out").alias("host"),
    )
    read = read_production_logs(parquet(tmp_path / "log.parquet", few))
    assert read.equals(table.with_columns(pl.lit(None, pl.String).alias("prompt_id")))
