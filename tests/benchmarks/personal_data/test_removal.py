"""A value is removed where fewer than four of its signs in a row are left at its own place; what is missed is named."""

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.harness import Report, run_benchmark
from benchmarks.personal_data import __main__ as command
from benchmarks.personal_data.texts import Kind, PlantedText, PlantedValue, is_removed

REVIEWS = (
    "review_id,order_id,review_score,review_comment_title,review_comment_message,review_creation_date,"
    "review_answer_timestamp\n"
    "r1,o1,5,,muito bom,2018-01-01 00:00:00,2018-01-02 00:00:00\n"
    "r2,o2,1,,,2018-01-01 00:00:00,2018-01-02 00:00:00\n"
    "r3,o3,1,ruim,falem com segredo,2018-01-01 00:00:00,2018-01-02 00:00:00\n"
)


@pytest.mark.parametrize(
    ("scrubbed", "removed"),
    [
        ("cpf [CPF] ok", True),
        ("cpf [CPF]89-09 ok", False),
        ("cpf [CPF]9-09 ok", True),
        ("cpf 123.[CPF]09 ok", True),
        ("cpf 123.456[CPF] ok", False),
        ("[CPF] ok", True),
        ("cpf 123.456.789-09 [CPF]", False),
    ],
)
def test_four_signs_in_a_row_are_readable_whatever_separates_them(scrubbed: str, removed: bool) -> None:
    assert is_removed("cpf 123.456.789-09 ok", "123.456.789-09", scrubbed) is removed


def test_only_a_values_own_place_counts() -> None:
    text = "fixo 3456-7890, nota 34567890123"
    assert is_removed(text, "3456-7890", "fixo [TELEFONE], nota 34567890123")
    assert not is_removed(text, "3456-7890", "fixo 3456-7890, nota [CPF]")
    assert not is_removed("cvv 123 do cartao 99", "123", "cvv 123 do cartao [CARTAO]")
    assert is_removed("cvv 123 do cartao 99", "123", "cvv [CARTAO] do cartao 99")


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> Report:
    def scrub(text: str) -> tuple[str, Counter[str]]:
        return text.replace("segredo", "[CPF]").replace("R$ 9", "[NUMERO]"), Counter()

    monkeypatch.setattr(command, "scrub", scrub)
    return Report()


def planted(kind: Kind, value: str, times: int) -> list[PlantedText]:
    return [PlantedText(text=f"meu {value}", values=(PlantedValue(kind=kind, value=value),))] * times


@pytest.mark.parametrize(
    ("texts", "misses"),
    [
        ([*planted("cpf", "segredo", 19), *planted("cpf", "outro", 1), *planted("rg", "segredo", 20)], []),
        ([*planted("cpf", "segredo", 18), *planted("cpf", "outro", 1)], ["a, cpf: 18 of 19", "a, promised: 18 of 19"]),
        ([*planted("cpf", "segredo", 96), *planted("cpf", "outro", 4)], ["a, promised: 96 of 100"]),
        (planted("name", "outro", 3), []),
    ],
)
def test_a_kind_below_95_percent_and_a_file_below_97_are_missed(
    report: Report, texts: list[PlantedText], misses: list[str]
) -> None:
    command.measure_values(report, {"a": texts})
    assert [miss.partition(" removed")[0] for miss in report.misses] == misses


def test_more_than_five_percent_of_the_reviews_are_missed(
    report: Report, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "reviews.csv"
    file.write_text(REVIEWS, encoding="utf-8")
    command.measure_reviews(report, file)
    assert report.misses == ["real reviews: 1 of 2 changed, limit 5%"]
    assert "falem" not in capsys.readouterr().out


@pytest.mark.usefixtures("report")
def test_the_command_reads_the_committed_texts_and_misses_in_its_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--reviews", str(tmp_path / "none.csv")]
    package = "benchmarks.personal_data"
    assert run_benchmark(package, "", command.measure, command.arguments, given=given, results=tmp_path) == 1
    printed = capsys.readouterr().out
    assert "MISSED: texts, cpf: 0 of " in printed
    assert "there is no none.csv" in printed
