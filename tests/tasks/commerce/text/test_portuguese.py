"""Portuguese as data is written in it: states, categories and numbers."""

import pytest

from tasks.commerce.text.portuguese import StateCode, decimal, numbers_in, percent, readable_category, reais


@pytest.mark.parametrize(
    ("code", "of", "at", "to"),
    [
        ("RJ", "do RJ", "no RJ", "para o RJ"),
        ("BA", "da BA", "na BA", "para a BA"),
        ("SP", "de SP", "em SP", "para SP"),
        ("PB", "da PB", "na PB", "para a PB"),
        ("MT", "de MT", "em MT", "para MT"),
        ("XX", "de XX", "em XX", "para XX"),
    ],
)
def test_a_state_has_its_article(code: str, of: str, at: str, to: str) -> None:
    state = StateCode(code)
    assert (f"{state:de}", f"{state:em}", f"{state:para}", f"{state}") == (of, at, to, code)


def test_categories_read_as_portuguese() -> None:
    assert readable_category("beleza_saude") == "beleza e saúde"
    assert readable_category("livros_importados") == "livros importados"
    assert readable_category("perfumaria") == "perfumaria"


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("R$ 12.345", [12_345.0]),
        ("R$ 1.234.567,89", [1_234_567.89]),
        ("8,2% de atrasos", [8.2]),
        ("nota 4.5 ou 4,5", [4.5, 4.5]),
        ("leve 3 e pague 2", [3.0, 2.0]),
        ("de 10 a 20.", [10.0, 20.0]),
        ("1.2345", [1.2345]),
        ("nada", []),
        ("9" * 400, []),
    ],
)
def test_numbers_are_read_as_brazilians_write_them(text: str, numbers: list[float]) -> None:
    assert numbers_in(text) == numbers


def test_numbers_are_written_as_brazilians_read_them() -> None:
    assert reais(12_345.6) == "R$ 12.346"
    assert percent(0.0825) == "8,2%"
    assert decimal(1_234.56, 2) == "1.234,56"
