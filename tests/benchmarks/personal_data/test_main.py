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
    return text.replace("segredo", "[CPF]").replace("R$ 9", "[NUMERO]"), Counter()


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "scrub", scrub)


def planted(kind: Kind, value: str, times: int) -> list[PlantedText]:
    return [PlantedText(text=f"meu {value}", values=(PlantedValue(kind=kind, value=value),))] * times


def harmless(text: str, times: int) -> list[PlantedText]:
    return [PlantedText(text=text, values=())] * times


def test_a_kind_below_95_percent_is_missed() -> None:
    report = Report()
    command.measure_values(
        report, [*planted("cpf", "segredo", 19), *planted("cpf", "outro", 1), *planted("rg", "segredo", 20)]
    )
    assert report.misses == []
    command.measure_values(report, [*planted("cpf", "segredo", 18), *planted("cpf", "outro", 1)])
    assert "cpf: 18 of 19 removed, limit 95%" in report.misses


def test_every_kind_but_those_that_nothing_promises_has_a_limit() -> None:
    report = Report()
    command.measure_values(report, [text for kind in KINDS for text in planted(kind, "outro", 1)])
    assert {miss.partition(":")[0] for miss in report.misses} == {*set(KINDS) - command.NOT_PROMISED, "promised"}


def test_less_than_97_percent_of_all_is_missed() -> None:
    report = Report()
    command.measure_values(report, [*planted("cpf", "segredo", 96), *planted("cpf", "outro", 4)])
    assert report.misses == ["promised: 96 of 100 removed, limit 97%"]


def test_a_lost_price_is_missed_and_a_lost_order_number_is_not() -> None:
    report = Report()
    command.measure_harmless(report, harmless("pedido segredo", 1))
    assert report.misses == []
    command.measure_harmless(report, harmless("R$ segredo de 50 reais por R$ 50", 1))
    assert report.misses == []
    command.measure_harmless(report, harmless("custou R$ 9", 1))
    assert report.misses == ["harmless texts: 1 lost a price or quantity, limit 0"]


def test_more_than_five_percent_of_the_reviews_are_missed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "reviews.csv"
    file.write_text(REVIEWS, encoding="utf-8")
    report = Report()
    command.measure_reviews(report, file)
    assert report.misses == ["reviews: 1 of 2 changed, limit 5%"]
    assert "falem" not in capsys.readouterr().out


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
