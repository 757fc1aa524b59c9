"""Frame of the benchmarks: what is printed is kept, and a missed limit is in the exit code."""

import re
from argparse import ArgumentParser, Namespace
from pathlib import Path

import pytest

from benchmarks.harness import Report, read_result, run_benchmark
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
