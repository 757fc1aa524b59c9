"""What a person sees: no line for what is quick, an estimate that ignores the loading, tables that fit 100 columns."""

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from flows import console
from flows.print_compare import print_report
from tests.tasks.evaluate.small_comparison import comparison

if TYPE_CHECKING:
    from flows.retrain import Retraining


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


def test_what_takes_under_two_seconds_prints_no_progress(clock: Clock, said: list[str]) -> None:
    with console.stage_progress("curate") as report:
        for done in range(10):
            clock.now += 0.1
            report(done, 10, "rows")
    assert said == []


def test_the_estimate_leaves_out_what_came_before_the_first_unit(clock: Clock, said: list[str]) -> None:
    with console.stage_progress("train") as report:
        report(0, 40, "loading")
        clock.now += 60
        report(1, 40, "reward 0.1")
        clock.now += 30
        report(11, 40, "reward 0.2")
    assert said == ["train: 1/40 reward 0.1", "train: 11/40 reward 0.2, about 87 s to go"]


def test_lines_come_no_more_often_than_every_ten_seconds(clock: Clock, said: list[str]) -> None:
    with console.stage_progress("train") as report:
        for step in range(100):
            clock.now += 1
            report(step, 100, "")
    assert len(said) == 10


def test_a_retraining_is_told_by_the_report_within_a_hundred_columns(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    compared = comparison(-0.2, tasks=("extraction", "push"), with_truth=True)
    decision = {"verdict": "hold", "version": "3", "model": "tucano", "alias": "champion"}
    evaluated = SimpleNamespace(path=tmp_path, seconds=1.5, reused=False, record=SimpleNamespace(sha256="ab" * 32))
    stages = {"evaluate": evaluated}
    retraining = SimpleNamespace(stages=stages, seconds=2.0, report=compared.report(), decision=decision, champion=None)
    console.print_retraining(cast("Retraining", retraining))
    printed = capsys.readouterr().err
    assert max(len(line) for line in printed.splitlines() if line.startswith("│")) <= 100
    assert "Ground truth of the same answers" in printed
    assert all(f"- {reason}" in printed for reason in compared.gate.reasons)
    assert "hold: version 3 of tucano\n`champion` is no version yet\n" in printed


def test_the_widest_row_of_a_report_fits_a_hundred_columns(capsys: pytest.CaptureFixture[str]) -> None:
    block = comparison(tasks=("extraction",)).report()["overall"] | {
        "n_prompts": 1000, "ci_low": -0.555, "ci_high": 0.237, "p_holm": 0.0, "p_harm": 0.0, "verdict": "non-inferior",
    }  # fmt: skip
    gate = {"verdict": "hold", "reasons": []}
    print_report({"overall": block, "tasks": {"extraction": block}, "ground_truth": None, "gate": gate})
    rows = [line for line in capsys.readouterr().err.splitlines() if line.startswith("│")]
    assert len(rows) == 2
    assert max(map(len, rows)) <= 100
    assert all("−0.555 to +0.237" in row and "non-inferior" in row for row in rows)
