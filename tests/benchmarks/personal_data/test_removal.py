"""A value is removed where fewer than four of its signs in a row are left at its own place; what is missed is named."""

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.harness import Report
from benchmarks.personal_data import __main__ as command
from benchmarks.personal_data.texts import Kind, PlantedText, PlantedValue, is_removed

CPF = "123.456.789-09"
NOTE = "fixo 3456-7890, nota 34567890123"


@pytest.mark.parametrize(
    ("text", "value", "scrubbed", "removed"),
    [
        (f"cpf {CPF} ok", CPF, "cpf [CPF] ok", True),
        (f"cpf {CPF} ok", CPF, "cpf [CPF]89-09 ok", False),
        (f"cpf {CPF} ok", CPF, "cpf [CPF]9-09 ok", True),
        (f"cpf {CPF} ok", CPF, "cpf 123.[CPF]09 ok", True),
        (f"cpf {CPF} ok", CPF, f"cpf {CPF} [CPF]", False),
        (NOTE, "3456-7890", "fixo [TELEFONE], nota 34567890123", True),
        (NOTE, "3456-7890", "fixo 3456-7890, nota [CPF]", False),
        ("cvv 123 do cartao 99", "123", "cvv 123 do cartao [CARTAO]", False),
        ("cvv 123 do cartao 99", "123", "cvv [CARTAO] do cartao 99", True),
    ],
)
def test_four_signs_in_a_row_at_its_own_place_are_readable(text: str, value: str, scrubbed: str, removed: bool) -> None:
    assert is_removed(text, value, scrubbed) is removed


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> Report:
    monkeypatch.setattr(command, "scrub", lambda text: (text.replace("segredo", "[CPF]"), Counter()))
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


def test_more_than_five_percent_of_the_reviews_are_missed(report: Report, tmp_path: Path) -> None:
    file = tmp_path / "reviews.csv"
    columns = "review_id,order_id,review_score,review_comment_title,review_comment_message"
    rows = ["r1,o1,5,,muito bom", "r2,o2,1,,", "r3,o3,1,ruim,falem com segredo"]
    times = ("review_creation_date,review_answer_timestamp", *["2018-01-01 00:00:00,2018-01-02 00:00:00"] * 3)
    file.write_text("".join(f"{left},{right}\n" for left, right in zip([columns, *rows], times, strict=True)))
    command.measure_reviews(report, file)
    assert report.misses == ["real reviews: 1 of 2 changed, limit 5%"]
