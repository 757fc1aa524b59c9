"""A recording shows every line of its log, each once it was printed, and ends with the last screen."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from schemas.errors import InputError
from tasks.demo import recording
from tasks.demo.recording import draw
from tasks.evaluate.completions.page import read_example, write_page

LOG = "$ tucano retrain\n" + "train: 1/10 <reward> & more\n" * 50 + "\n3.5 seconds by stage\n└──┘\n  last\n"
SVG = "{http://www.w3.org/2000/svg}"


def test_each_line_is_shown_in_its_order_by_steps_that_end_with_the_last_screen() -> None:
    text = draw(LOG)
    screen = ET.fromstring(text).find(f"{SVG}svg")  # noqa: S314 - of our own making
    assert screen is not None
    shown = {float(line.attrib["y"]): line.text for line in screen.iter(f"{SVG}text")}
    assert [shown[y] for y in sorted(shown)] == [line for line in LOG.splitlines() if line]
    moves = [(float(at), int(by)) for at, by in re.findall(r"([\d.]+)% { transform: translateY\((-?\d+)px", text)]
    starts = [at for at, _ in moves]
    assert starts == sorted(set(starts))
    assert (starts[0], starts[-1] < 100, len(moves)) == (0, True, len(LOG.splitlines()))
    # Each step puts its line on the lowest row.
    assert len({y + by for y, (_, by) in zip(sorted({*shown, 51 * 17 + 14}), moves, strict=True)}) == 1
    assert f'translate(0 {moves[-1][1]})"' in text


@pytest.mark.parametrize("log", ["x" * 101, "no run"])
def test_a_log_of_something_else_is_refused(log: str) -> None:
    with pytest.raises(ValueError, match=r"the log"):
        draw(log)


def test_a_log_has_nothing_of_the_machine_that_it_was_made_on() -> None:
    call = ".venv/bin/tucano retrain --profile local"
    own = ["touch .venv/.ready", f"{call} ", "201.7 seconds"]
    printed = [*own, "report:", "/home/ana/report.html", "model: /m", "next: a"]
    assert recording.of_the_product(printed) == [call, "201.7 seconds", "next: a"]
    assert recording.of_the_product(["{", ' "a": 1', "}"]) == ["{", ' "a": 1', "}"]


def test_the_rows_that_a_page_carries_are_read_back(tmp_path: Path) -> None:
    assert recording.rows_of(write_page(read_example(), tmp_path)) == read_example()


def test_a_state_that_would_be_resumed_is_no_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "_STATE", tmp_path)
    with pytest.raises(InputError, match="move it away"):
        recording.record()
