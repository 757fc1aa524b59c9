"""What a person sees: no line for what is quick, and an estimate that ignores the loading."""

import pytest

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
