"""What a person sees: no line for what is quick, and an estimate that ignores the loading."""

import io
import time
from contextlib import ExitStack

import pytest
from rich.console import Console

from flows.runtime import console


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(console, "time", clock)
    return clock


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    said: list[str] = []
    monkeypatch.setattr(console, "say", said.append)
    return said


def test_captured_lines_are_printed_with_the_block_unless_dropped_and_quiet_leaves_warnings(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Warnings were progress once, and quiet users never heard that a step of the run was left out."""
    with console.captured() as lines:
        console.say("kept")
        assert lines == ["kept"]
    monkeypatch.setattr(console, "_quiet", True)
    with console.captured() as lines:
        console.say("under way")
        console.warn("it has one task", "curate")
    with console.captured() as lines:
        console.warn("dropped")
        lines.clear()
    assert capsys.readouterr().err.splitlines() == ["kept", "curate: warning: it has one task"]


def test_the_estimate_of_a_second_kind_of_unit_leaves_out_the_first(clock: Clock, said: list[str]) -> None:
    """Minutes of preflight once made the first steps look ten times as long as they were."""
    with console.stage_progress("train") as report:
        report(1, 20, "preflight: audit")
        clock.now += 300
        report(20, 20, "preflight done")
        clock.now += 10
        report(1, 40, "reward 0.1")
        clock.now += 30
        report(11, 40, "reward 0.2")
    assert said[-1] == "train: 11/40 reward 0.2, about 87 s to go"


def test_each_of_two_stages_at_once_has_its_bar_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rich draws the display that began first alone; with one a stage, the others vanished when it ended."""
    screen = io.StringIO()
    monkeypatch.setattr(console, "console", Console(file=screen, force_terminal=True, width=100))

    def wait_for(*texts: str) -> str:
        screen.truncate(screen.seek(0))
        while not all(text in screen.getvalue() for text in texts):
            time.sleep(0.02)
        return screen.getvalue()

    with ExitStack() as training:
        with console.stage_progress("sft") as of_sft:
            of_train = training.enter_context(console.stage_progress("train"))
            of_sft(1, 2, "loss 0.5")
            wait_for("loss 0.5", "train")
        of_train(3, 40, "reward 0.4")
        with console.stage_progress("search") as of_search:
            of_search(5, 9, "answers")
            assert "loss 0.5" not in wait_for("reward 0.4", "answers")
    with console.stage_progress("evaluate") as report:
        report(1, 2, "models")
        wait_for("models")


def test_a_sentence_is_wrapped_between_words_and_no_path_and_no_command_is_broken(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that was copied over two lines ran by its first half."""
    monkeypatch.setenv("COLUMNS", "40")
    path = f"/state/{'a-b/' * 40}report.html"
    console.show(f"  there is no champion yet; run `tucano promote 3 --force REASON`, or ask\nreport: {path}")
    assert capsys.readouterr().err.splitlines() == [
        "  there is no champion yet; run",
        "  `tucano promote 3 --force REASON`, or",
        "  ask",
        "report:",
        path,
    ]
