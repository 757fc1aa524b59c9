"""Results: one document on stdout alone, or sentences and tables that fit any document within the columns."""

import json

import pytest

from flows.cli.result import MAX_CELL, cell, show


def test_with_json_stdout_is_the_document_alone(capsys: pytest.CaptureFixture[str]) -> None:
    show({"é": 1}, ["a sentence"], as_json=True)
    printed = capsys.readouterr()
    assert (json.loads(printed.out), printed.err) == ({"é": 1}, "a sentence\n")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("\x1b[2J [bold]:ok:", "␛[2J [bold]:ok:"),
        ("x" * (MAX_CELL + 1), "x" * MAX_CELL + "…"),
        ("ab" * 32, "abababababab"),
        ("2026-11-27T12:00:09.5+00:00", "2026-11-27 12:00"),
        (1234, "1234"),
        (123_456, "123,456"),
        (1234.56, "1,234.6"),
        (1e-9, "< 0.001"),
        ({"style": 0.5, "n": 2}, "style 0.500  n 2"),
        (("a", "b"), "a, b"),
    ],
)
def test_a_value_is_shown_by_its_type(value: object, shown: str) -> None:
    assert cell(value) == shown
