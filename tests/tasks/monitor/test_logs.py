"""Logs: read once, on the monitored days, of the champion, with feedback, and without personal data."""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.stages.monitor import scrubbed_texts as scrub
from schemas.config.serve import MonitorConfig
from schemas.errors import InputError
from schemas.tables.production_logs import LogFile, LogFiles, log_files, read_production_logs
from tasks.monitor.logs import HALF_WRITTEN, OF_OTHERS, TWICE, Logs, read_logs, scrubbed_references
from tests.tasks.monitor.logged import NOW, answer, write_log

CHAMPION = ("tucano2-commerce/3", "tucano2-commerce@champion")


def read(*files: Path, promoted_at: datetime | None = None, **config: Any) -> Logs:
    found = LogFiles(files[0], tuple(LogFile(file, file.stat().st_size) for file in files))
    return look(found, promoted_at, **config)


def look(found: LogFiles, promoted_at: datetime | None = None, **config: Any) -> Logs:
    return read_logs(found, found.digests(), MonitorConfig(**config), CHAMPION, promoted_at, NOW)


def test_a_time_that_is_yet_to_come_is_refused_with_its_row(tmp_path: Path) -> None:
    skewed = answer(time=(NOW + timedelta(minutes=4)).isoformat())
    assert read(write_log(tmp_path / "log.jsonl", [skewed])).table.height == 1
    path = write_log(tmp_path / "log.jsonl", [answer(), answer(days_ago=-1), answer(days_ago=-2)])
    with pytest.raises(InputError, match=r"row 2 is of 2026-03-11 12:00 UTC.*2 such rows"):
        read(path)


def test_a_request_delivered_twice_counts_once(tmp_path: Path) -> None:
    lines = [answer(request_id="a"), answer(request_id="b")]
    files = write_log(tmp_path / "1.jsonl", [*lines, answer()]), write_log(tmp_path / "2.jsonl", [*lines, answer()])
    logs = read(*files)
    # Without an identity nobody can tell whether it is the same request.
    assert logs.table.height == 4
    assert logs.left_out == {TWICE: 2}


def test_files_that_somebody_still_writes_stop_nothing(tmp_path: Path) -> None:
    live = write_log(tmp_path / "live.jsonl", [answer(), answer(days_ago=1)])
    whole = live.read_bytes()
    live.write_bytes(whole + b'{"task": "pu')
    (tmp_path / "rotated.jsonl").touch()
    write_log(tmp_path / ".draft.jsonl", [{"task": "push"}])
    read_production_logs(live, len(whole)).clear().write_parquet(tmp_path / "quiet.parquet")
    found = log_files(tmp_path)
    assert (len(found.files), found.empty, found.bytes) == (1, 2, len(whole))
    logs = look(found)
    assert (logs.rows, logs.table.height, logs.left_out) == (3, 2, {HALF_WRITTEN: 1})
    # Whole in itself, but for the end of its line, it may yet go on.
    live.write_bytes(whole + json.dumps(answer()).encode())
    assert look(log_files(tmp_path)).table.height == 2
    # Given by itself, a file is read to its end.
    assert look(log_files(live)).table.height == 3


def test_rows_appended_meanwhile_do_not_count_and_changed_ones_are_refused(tmp_path: Path) -> None:
    path = write_log(tmp_path / "log.jsonl", [answer(), answer()])
    found = log_files(tmp_path)
    digests, before = found.digests(), path.read_bytes()
    path.write_bytes(before + before)
    assert read_logs(found, digests, MonitorConfig(), CHAMPION, None, NOW).rows == 2
    path.write_bytes(before.replace(b"800.0", b"900.0"))
    with pytest.raises(InputError, match="were changed while they were read"):
        read_logs(found, digests, MonitorConfig(), CHAMPION, None, NOW)


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.sampled_from(["a", "b", "c", None])), min_size=1, max_size=12),
    st.integers(1, 40),
)
def test_every_row_is_kept_or_counted(tmp_path_factory: pytest.TempPathFactory, rows: Sequence[Any], days: int) -> None:
    # One identity has one content, so that nothing is refused.
    lines = [answer(days_ago=age if name is None else ord(name) - 97, request_id=name) for age, name in rows]
    path = write_log(tmp_path_factory.getbasetemp() / "any.jsonl", lines)
    logs = read(path, days=days)
    assert logs.table.height + sum(logs.left_out.values()) == logs.rows == len(rows)
    newest = max(logs.table["day"].to_list())
    assert all(newest - day < timedelta(days=days) for day in logs.table["day"])
    assert isinstance(logs.table.schema["time"], pl.Datetime)


def cleaned(document: object) -> object:
    # As a table holds it: with escapes for all that is no ASCII.
    return json.loads(scrubbed_references(pl.Series([json.dumps(document)]), scrub)[0])


@pytest.mark.parametrize(
    ("written", "kind"),
    [("529.982.247\u201125", "CPF"), ("ana\uff20example.com", "EMAIL"), ("\uff15\uff12\uff19.982.247-25", "CPF")],
)
def test_escaped_personal_data_is_found_in_values_and_keys(written: str, kind: str) -> None:
    found = cleaned({"note": [f"de {written}"], f"chave {written}": {"a": None}})
    assert found == {"note": [f"de [{kind}]"], f"chave [{kind}]": {"a": None}}


def test_a_number_that_is_a_persons_becomes_a_text() -> None:
    assert cleaned({"n": 52998224725.0, "rating": 5}) == {"n": "[CPF]", "rating": 5}


def test_only_answers_that_the_champion_gave_count_each_once(tmp_path: Path) -> None:
    own: dict[str, Any] = {"model_version": "tucano2-commerce/3"}
    lines = [
        answer(request_id="a", **own),
        answer(request_id="f", **own),
        answer(request_id="c", model_version="tucano2-commerce/4"),
        answer(request_id="n"),
    ]
    logs = read(write_log(tmp_path / "log.jsonl", lines))
    assert (logs.table.height, logs.left_out) == (2, {OF_OTHERS: 2})
    assert "request_id" not in logs.table.columns
