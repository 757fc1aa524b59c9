"""Results: one document on stdout alone, or sentences and tables that fit any document within the columns."""

import json
from typing import Any

import pytest

from flows.cli.result import MAX_CELL, Table, cell, show

ROWS: list[dict[str, Any]] = [
    {"step": 20, "found": {"reward": 0.51249}, "low": 0.1, "high": 0.3, "bytes": 18_000, "none": None, "ok": True},
    {"step": 10, "found": {}, "low": None, "high": None, "bytes": 7, "none": None, "ok": False},
]


def cells(shown: str) -> list[list[str]]:
    return [[text.strip() for text in line.split("│")[1:-1]] for line in shown.splitlines() if line.startswith("│")]


def test_a_table_has_paths_intervals_and_sizes_and_no_column_without_a_value(
    capsys: pytest.CaptureFixture[str],
) -> None:
    columns = "step reward=found.reward 95_%=low..high bytes none ok"
    show(None, ["before", Table("Title", ROWS, columns), "after"], as_json=False)
    shown = capsys.readouterr().out
    assert cells(shown) == [["20", "0.512", "0.100 to 0.300", "18.0 kB", "yes"], ["10", "-", "-", "7 bytes", "no"]]
    assert "95 %" in shown
    assert "none" not in shown
    assert shown.index("before") < shown.index("Title") < shown.index("after")
    show(None, [Table("By name", {"push": {"n": 1}}, "name n")], as_json=False)
    assert cells(capsys.readouterr().out) == [["push", "1"]]
    show(None, [Table("Of nothing", [], "name n")], as_json=False)
    assert "Of nothing" in capsys.readouterr().out


def test_with_json_stdout_is_the_document_alone(capsys: pytest.CaptureFixture[str]) -> None:
    show({"é": 1}, ["a sentence"], as_json=True)
    printed = capsys.readouterr()
    assert (json.loads(printed.out), printed.err) == ({"é": 1}, "a sentence\n")


def test_a_text_commands_no_terminal_and_a_long_one_is_cut() -> None:
    assert cell("\x1b[2J [bold]:ok:") == "␛[2J [bold]:ok:"
    assert cell("x" * (MAX_CELL + 1)) == "x" * MAX_CELL + "…"
