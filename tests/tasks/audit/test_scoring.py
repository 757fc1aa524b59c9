"""A rater's score is put into a sheet and taken out again, and nobody else's row is touched."""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.documents import Rollout
from schemas.errors import InputError
from schemas.tables.spreadsheet import Dialect
from tasks.audit.scoring import Rows, change_rows, with_score, without_score
from tasks.audit.sheet import Row, as_row, read_rows, read_with_dialect, write_rows

SCORE_COLUMNS = ("human_score", "rater", "rater_kind", "notes")


def completion(number: int) -> Row:
    return as_row(Rollout(prompt_id=f"p{number}", task="push", prompt="Crie", completion=f"c{number}"), "random")


BLANK: Rows = tuple(completion(number) for number in range(3))
FIRST, SECOND, THIRD = (row["audit_id"] for row in BLANK)


def with_score_of(rows: Rows, audit_id: str, rater: str) -> Rows:
    return with_score(rows, audit_id, rater, "human", 3, "")


def scores(rows: Rows) -> list[tuple[str, ...]]:
    return [(row["completion"], *(row[column] for column in SCORE_COLUMNS)) for row in rows]


def test_the_first_score_fills_the_blank_row() -> None:
    rows = with_score(BLANK, SECOND, "ana", "human", 4, "quase")
    assert scores(rows) == [("c0", "", "", "", ""), ("c1", "4", "ana", "human", "quase"), ("c2", "", "", "", "")]


def test_another_rater_gets_a_row_right_behind_the_completion() -> None:
    rows = with_score(with_score(BLANK, FIRST, "ana", "human", 4, "quase"), FIRST, "bia", "human", 2, "")
    assert scores(rows)[:3] == [
        ("c0", "4", "ana", "human", "quase"),
        ("c0", "2", "bia", "human", ""),
        ("c1", "", "", "", ""),
    ]
    assert rows[1] == {**rows[0], "human_score": "2", "rater": "bia", "notes": ""}


def test_a_raters_second_thought_replaces_the_first() -> None:
    rows = with_score(with_score(BLANK, FIRST, "ana", "human", 4, "quase"), FIRST, "bia", "human", 2, "")
    changed = with_score(rows, FIRST, "ana", "human", 5, "")
    assert scores(changed)[:2] == [("c0", "5", "ana", "human", ""), ("c0", "2", "bia", "human", "")]
    assert len(changed) == len(rows)


def test_a_row_that_a_rater_began_in_a_spreadsheet_is_that_raters() -> None:
    begun: Rows = ({**BLANK[0], "rater": "bia"}, *BLANK[1:])
    assert scores(with_score(begun, FIRST, "bia", "human", 3, ""))[0] == ("c0", "3", "bia", "human", "")
    assert scores(with_score(begun, FIRST, "ana", "human", 3, ""))[:2] == [
        ("c0", "", "bia", "", ""),
        ("c0", "3", "ana", "human", ""),
    ]


def test_a_completion_that_is_not_in_the_sheet_cannot_be_scored() -> None:
    with pytest.raises(InputError, match="no row of the sheet has the audit_id abc"):
        with_score(BLANK, "abc", "ana", "human", 3, "")


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from([FIRST, SECOND, THIRD]), st.sampled_from("abc"), st.integers(1, 5))))
def test_a_score_that_is_taken_out_leaves_the_sheet_as_it_was(given_before: list[tuple[str, str, int]]) -> None:
    rows = BLANK
    for audit_id, rater, score in given_before:
        rows = with_score(rows, audit_id, rater, "human", score, "")
    assert without_score(with_score(rows, SECOND, "new", "human", 1, "nota"), SECOND, "new") == rows


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    path = tmp_path / "sheet.csv"
    write_rows(path, BLANK)
    return path


@pytest.mark.parametrize("notes", ["=SOMA(1)", "linha 1\r\nlinha 2", "\x00\x1b[31m", "ótimo; 'aspas', \"aspas\""])
def test_what_is_written_is_what_is_returned_and_read_again(sheet: Path, notes: str) -> None:
    written = change_rows(sheet, lambda rows: with_score(rows, FIRST, "ana", "human", 4, notes))
    assert read_rows(sheet) == written
    before = sheet.stat()
    again = change_rows(sheet, lambda rows: with_score(rows, FIRST, "ana", "human", 4, notes))
    assert again == written
    # A sheet that is written again is another file.
    assert (sheet.stat().st_ino, sheet.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("line_end", ["\r\n", "\n", "\r"])
def test_a_score_leaves_the_dialect_of_excel_in_brazil(sheet: Path, line_end: str) -> None:
    dialect = Dialect(";", "cp1252", line_end)
    rows = [{**row, "notes": "não\nsei"} for row in BLANK]
    write_rows(sheet, rows, dialect)
    change_rows(sheet, lambda rows: with_score(rows, FIRST, "ana", "human", 4, "já é bom"))
    scored, now = read_with_dialect(sheet)
    assert now == dialect
    assert [(row["human_score"], row["notes"]) for row in scored][:2] == [("4", "já é bom"), ("", "não\nsei")]


def test_raters_at_work_at_once_lose_no_score(sheet: Path) -> None:
    def score_all(rater: str) -> None:
        for audit_id in (FIRST, SECOND, THIRD):
            change_rows(sheet, partial(with_score_of, audit_id=audit_id, rater=rater))

    raters = [f"rater-{number}" for number in range(6)]
    with ThreadPoolExecutor(len(raters)) as pool:
        list(pool.map(score_all, raters))
    scored = [(row["audit_id"], row["rater"]) for row in read_rows(sheet)]
    assert sorted(scored) == sorted((audit_id, rater) for audit_id in (FIRST, SECOND, THIRD) for rater in raters)


def test_a_change_that_fails_leaves_the_sheet_and_its_lock_as_they_were(sheet: Path) -> None:
    before = sheet.read_bytes()
    with pytest.raises(InputError, match="abc"):
        change_rows(sheet, lambda rows: with_score(rows, "abc", "ana", "human", 3, ""))
    assert sheet.read_bytes() == before
    change_rows(sheet, lambda rows: with_score(rows, FIRST, "ana", "human", 3, ""))
    assert [path.name for path in sheet.parent.iterdir() if not path.name.startswith(".")] == ["sheet.csv"]


def test_a_folder_that_cannot_be_written_is_named(sheet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    before = sheet.read_bytes()
    with pytest.raises(InputError, match=r"sheet\.csv cannot be written \(No space left on device\)"):
        change_rows(sheet, lambda rows: with_score(rows, FIRST, "ana", "human", 3, ""))
    assert sheet.read_bytes() == before
