"""Frame of the benchmarks: what is printed is kept, and a missed limit is in the exit code."""

import re
from argparse import ArgumentParser, Namespace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.harness import Report, read_result, run_benchmark
from benchmarks.ledger.__main__ import PAGE, rows
from benchmarks.monitor.simulated import GRID, MEANS, shares
from benchmarks.statistics.__main__ import is_beyond
from benchmarks.statistics.scenarios import COVERED
from schemas.errors import InputError

PACKAGE = "benchmarks.speed"


def measure(report: Report, options: Namespace) -> None:
    rows = [("a row", "1"), None, ("[red]a long name[/red] " * 9, "22,222")]
    report.table("Speed", ("", "rollouts a second", "of what"), rows, left=("of what",))
    report.line("A sentence that is far longer than a table may be wide. " * 3)
    report.limit(getattr(options, "count", 9) > 5, "5 is too few, limit 6")


def add_count(parser: ArgumentParser) -> None:
    parser.add_argument("--count", type=int, default=9, help="of them")


def run(given: list[str], results: Path) -> int:
    return run_benchmark(PACKAGE, "A benchmark.", measure, add_count, given=given, results=results)


def stripped(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().split("\n")]


def test_the_kept_result_is_what_was_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([], tmp_path) == 0
    result = read_result("speed", tmp_path)
    assert result is not None
    assert result.printed == stripped(capsys.readouterr().out)
    assert (result.command, result.missed) == ("make bench NAME=speed", 0)
    assert re.fullmatch(r"[0-9a-f]{7,}\+? \(tree [0-9a-f]{7,}\) of \d{4}-\d\d-\d\d", result.commit)
    assert "22,222" in "\n".join(result.printed)


def test_a_missed_limit_is_printed_kept_and_in_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def miss(report: Report, options: Namespace) -> None:
        measure(report, Namespace(count=5))

    assert run_benchmark(PACKAGE, "A benchmark.", miss, given=[], results=tmp_path) == 1
    assert stripped(capsys.readouterr().out)[-1] == "MISSED: 5 is too few, limit 6"
    result = read_result("speed", tmp_path)
    assert result is not None
    assert (result.missed, result.printed[-1]) == (1, "MISSED: 5 is too few, limit 6")


def test_a_run_that_ends_early_keeps_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(report: Report, _: Namespace) -> None:
        report.line("half of it")
        raise InputError("there is no sample in DIR; name another with --olist")

    assert run_benchmark(PACKAGE, "A benchmark.", refuse, given=[], results=tmp_path) == 2
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().err == "there is no sample in DIR; name another with --olist\n"


def test_the_name_of_the_machine_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.node", lambda: "a-private-name")
    run([], tmp_path)
    assert "a-private-name" not in (tmp_path / "speed.json").read_text(encoding="utf-8")


def test_each_row_of_the_page_is_read() -> None:
    page = PAGE.read_text(encoding="utf-8")
    found = rows(page)
    assert len(found) == sum(line.startswith("| ") and "| `" in line for line in page.splitlines())
    assert len(found) > 50
    assert all(row["command"] and row["code"].isdigit() for row in found)
    assert any(" | " in row["command"] for row in found)


@pytest.mark.parametrize("name", COVERED)
def test_the_true_difference_is_the_mean_of_what_is_drawn(name: str) -> None:
    base, tuned = COVERED[name].draw(np.random.default_rng(1), 100_000, np.zeros(1))
    assert float((tuned - base).mean()) == pytest.approx(COVERED[name].true_difference, abs=0.005)
    assert min(base.min(), tuned.min()) >= 0
    assert max(base.max(), tuned.max()) <= 1


@pytest.mark.parametrize(("covered", "errors", "is_missed"), [(0.929, 0, True), (0.929, 2, False), (0.985, 2, True)])
def test_a_share_outside_of_93_to_97_percent_is_missed(covered: float, errors: int, is_missed: bool) -> None:
    assert is_beyond(covered, 1_000, errors) is is_missed


@pytest.mark.parametrize("offset", [0.0, -0.1])
def test_a_tasks_simulated_rewards_have_its_mean(offset: float) -> None:
    for task, mean in MEANS.items():
        assert shares(task, offset) @ GRID == pytest.approx(mean + offset)
