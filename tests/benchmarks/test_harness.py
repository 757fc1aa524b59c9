"""Frame of the benchmarks: what is printed is kept, and a missed limit is in the exit code; and what is simulated."""

import re
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.harness import Report, add_overrides, read_result, run_benchmark
from benchmarks.ledger.__main__ import PAGE, rows
from benchmarks.monitor.simulated import GRID, MEANS, shares
from benchmarks.statistics.__main__ import is_beyond
from benchmarks.statistics.scenarios import COVERED
from schemas.errors import InputError


@pytest.mark.parametrize(("count", "misses"), [(9, []), (5, ["MISSED: 5 is too few, limit 6"])])
def test_the_kept_result_is_what_was_printed_and_a_missed_limit_is_in_the_exit_code(
    count: int, misses: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measure(report: Report, _: Namespace) -> None:
        cells = [("a row", "1"), None, ("[red]a long name[/red] " * 9, "22,222")]
        report.table("Speed", ("", "rollouts a second", "of what"), cells, left=("of what",))
        report.line("A sentence that is far longer than a table may be wide. " * 3)
        report.limit(count > 5, f"{count} is too few, limit 6")

    monkeypatch.setattr("platform.node", lambda: "a-private-name")
    assert run_benchmark("benchmarks.speed", "A benchmark.", measure, given=[], results=tmp_path) == len(misses)
    result = read_result("speed", tmp_path)
    assert result is not None
    assert result.printed == [line.rstrip() for line in capsys.readouterr().out.rstrip().split("\n")]
    assert (result.command, result.missed) == ("make bench NAME=speed", len(misses))
    assert [line for line in result.printed if line.startswith("MISSED")] == misses
    assert re.fullmatch(r"[0-9a-f]{7,}\+? \(tree [0-9a-f]{7,}\) of \d{4}-\d\d-\d\d", result.commit)
    assert "a-private-name" not in (tmp_path / "speed.json").read_text(encoding="utf-8")


def test_a_run_with_options_or_a_refusal_keeps_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(_: Report, options: Namespace) -> None:
        if options.set:
            return
        raise InputError("there is no sample in DIR; name another with --olist")

    for given, code in (["--set", "a=1"], 0), ([], 2):
        assert run_benchmark("benchmarks.speed", "", refuse, add_overrides, given=given, results=tmp_path) == code
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().err == "there is no sample in DIR; name another with --olist\n"


def test_each_row_of_the_page_is_read() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert len(rows(page)) == sum(line.startswith("| ") and "| `" in line for line in page.splitlines()) > 50


@pytest.mark.parametrize("name", COVERED)
def test_the_true_difference_is_the_mean_of_what_is_drawn(name: str) -> None:
    base, tuned = COVERED[name].draw(np.random.default_rng(1), 100_000, np.zeros(1))
    assert float((tuned - base).mean()) == pytest.approx(COVERED[name].true_difference, abs=0.005)
    assert 0 <= min(base.min(), tuned.min()) <= max(base.max(), tuned.max()) <= 1


@pytest.mark.parametrize(("covered", "errors", "is_missed"), [(0.929, 0, True), (0.929, 2, False), (0.985, 2, True)])
def test_a_share_outside_of_93_to_97_percent_is_missed(covered: float, errors: int, is_missed: bool) -> None:
    assert is_beyond(covered, 1_000, errors) is is_missed


@pytest.mark.parametrize("offset", [0.0, -0.1])
def test_a_tasks_simulated_rewards_have_its_mean(offset: float) -> None:
    assert [shares(task, offset) @ GRID for task in MEANS] == pytest.approx([mean + offset for mean in MEANS.values()])
