"""The command: shares by kind, and a miss for what stays readable or is changed without need."""

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.harness import Report, run_benchmark
from benchmarks.personal_data import __main__ as command
from benchmarks.personal_data.texts import KINDS, Kind, PlantedText, PlantedValue

REVIEWS = (
    "review_id,order_id,review_score,review_comment_title,review_comment_message,review_creation_date,"
    "review_answer_timestamp\n"
    "r1,o1,5,,muito bom,2018-01-01 00:00:00,2018-01-02 00:00:00\n"
    "r2,o2,1,,,2018-01-01 00:00:00,2018-01-02 00:00:00\n"
    "r3,o3,1,ruim,falem com segredo,2018-01-01 00:00:00,2018-01-02 00:00:00\n"
)


def scrub(text: str) -> tuple[str, Counter[str]]:
    return text.replace("segredo", "[CPF]"), Counter()


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "scrub", scrub)


def planted(kind: Kind, value: str, times: int) -> list[PlantedText]:
    return [PlantedText(text=f"meu {value}", values=(PlantedValue(kind=kind, value=value),))] * times


def harmless(text: str, times: int) -> list[PlantedText]:
    return [PlantedText(text=text, values=())] * times


def test_a_kind_below_95_percent_is_missed() -> None:
    report = Report()
    command.measure_values(report, [*planted("cpf", "segredo", 19), *planted("cpf", "outro", 1)])
    assert report.misses == []
    command.measure_values(report, [*planted("cpf", "segredo", 18), *planted("cpf", "outro", 1)])
    assert report.misses == ["cpf: 18 of 19 removed, limit 95%"]


def test_every_kind_but_those_that_nothing_promises_has_a_limit() -> None:
    report = Report()
    command.measure_values(report, [text for kind in KINDS for text in planted(kind, "outro", 1)])
    assert {miss.partition(":")[0] for miss in report.misses} == set(KINDS) - command.NOT_PROMISED


def test_more_than_one_of_a_thousand_harmless_texts_is_missed() -> None:
    report = Report()
    command.measure_harmless(report, [*harmless("bom", 999), *harmless("segredo", 1)])
    assert report.misses == []
    command.measure_harmless(report, [*harmless("bom", 998), *harmless("segredo", 1)])
    assert report.misses == ["harmless texts: 1 of 999 changed, limit 1 of 1,000"]


def test_a_changed_review_counts_until_its_row_is_found_right(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "reviews.csv"
    file.write_text(REVIEWS, encoding="utf-8")
    report = Report()
    command.measure_reviews(report, file, frozenset())
    assert report.misses == ["harmless reviews: 1 of 2 changed, limit 1 of 1,000"]
    printed = capsys.readouterr().out
    assert "to be read: 4\n" in printed
    assert "falem" not in printed
    report = Report()
    command.measure_reviews(report, file, command.row_numbers("4"))
    assert report.misses == []
    assert "changed: 0 of 1\n" in capsys.readouterr().out


def test_the_command_reads_the_committed_texts_and_misses_in_its_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = "benchmarks.personal_data"
    given = ["--reviews", str(tmp_path / "none.csv")]
    code = run_benchmark(package, "", command.measure, command.arguments, given=given, results=tmp_path)
    assert code == 2
    assert "none.csv cannot be read" in capsys.readouterr().err
    assert run_benchmark(package, "", command.measure, command.arguments, given=[], results=tmp_path) == 1
    printed = capsys.readouterr().out
    assert "MISSED: cpf: 0 of " in printed
    assert "harmless texts changed: 0 of " in printed
