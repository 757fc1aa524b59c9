"""Results: one document on stdout alone, or sentences and tables that fit any document within the columns."""

import json

import pytest

from flows.cli.result import MAX_CELL, cell, show


def test_with_json_stdout_is_the_document_alone(capsys: pytest.CaptureFixture[str]) -> None:
    show({"é": 1}, ["a sentence"], as_json=True)
    printed = capsys.readouterr()
    assert (json.loads(printed.out), printed.err) == ({"é": 1}, "a sentence\n")


def test_a_text_commands_no_terminal_and_a_long_one_is_cut() -> None:
    assert cell("\x1b[2J [bold]:ok:") == "␛[2J [bold]:ok:"
    assert cell("x" * (MAX_CELL + 1)) == "x" * MAX_CELL + "…"
