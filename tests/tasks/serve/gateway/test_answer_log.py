"""The log keeps every whole line of a day in one file, and nothing of a line that could not be written."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import BaseModel

from schemas.errors import InputError
from tasks.serve.gateway.answer_log import DailyFile, LogUnwritable

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Line(BaseModel):
    number: int


def written(folder: Path, *numbers: int, days: int = 9) -> None:
    """Let a gateway of its own write a line on each of as many days."""
    log = DailyFile(folder, days=days)
    for day, number in enumerate(numbers):
        log.append(Line(number=number), NOW + timedelta(days=day))
    log.close()


def test_each_day_has_its_file_and_old_ones_are_removed(tmp_path: Path) -> None:
    others = tmp_path / "notes.jsonl"
    others.write_text("a shop's own\n")
    written(tmp_path, *range(5), days=2)
    assert sorted(file.stem for file in tmp_path.glob("2026-*.jsonl")) == ["2026-03-03", "2026-03-04", "2026-03-05"]
    assert others.exists()


def test_a_line_that_a_killed_machine_left_unfinished_is_cut_off(tmp_path: Path) -> None:
    file = tmp_path / "2026-03-01.jsonl"
    file.write_text('{"number":1}\n{"num')
    written(tmp_path, 2)
    assert file.read_text() == '{"number":1}\n{"number":2}\n'


def test_a_line_that_is_written_only_in_part_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = DailyFile(tmp_path, days=9)
    log.append(Line(number=1), NOW)
    write = os.write
    with monkeypatch.context() as patched:
        patched.setattr("tasks.serve.gateway.answer_log.os.write", lambda file, line: write(file, line[:4]))
        with pytest.raises(LogUnwritable, match="full"):
            log.append(Line(number=2), NOW)
    log.append(Line(number=3), NOW)
    log.close()
    assert (tmp_path / "2026-03-01.jsonl").read_text() == '{"number":1}\n{"number":3}\n'


def test_two_gateways_do_not_write_to_one_folder(tmp_path: Path) -> None:
    log = DailyFile(tmp_path, days=9)
    with pytest.raises(InputError, match="another gateway"):
        DailyFile(tmp_path, days=9)
    log.close()
    DailyFile(tmp_path, days=9).close()


@pytest.mark.parametrize("moves", [False, True])
def test_a_line_goes_into_the_days_file_also_where_that_was_removed_or_moved(tmp_path: Path, moves: bool) -> None:
    log = DailyFile(tmp_path, days=9)
    log.append(Line(number=1), NOW)
    file = tmp_path / "2026-03-01.jsonl"
    file.rename(tmp_path / "elsewhere") if moves else file.unlink()
    log.append(Line(number=2), NOW)
    log.close()
    assert file.read_text() == '{"number":2}\n'
    assert file.stat().st_mode & 0o077 == 0
