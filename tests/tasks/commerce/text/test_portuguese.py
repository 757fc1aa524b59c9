"""Portuguese as data is written in it: states, categories and numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.portuguese import StateCode, decimal, numbers_in, percent, readable_category, reais
from tasks.synthesize.market import STATES


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


def test_two_states_are_feminine_and_every_state_is_known() -> None:
    codes = {line.partition(" = ")[0] for line in read_lexicon("states")}
    assert codes == {state.code for state in STATES}
    assert {code for code in codes if f"{StateCode(code):de}".startswith("da ")} == {"BA", "PB"}
    assert {code for code in codes if f"{StateCode(code):de}".startswith("de ")} == {
        *("AL", "GO", "MG", "MS", "MT", "PE", "RO", "RR", "SC", "SE", "SP")
    }


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


@given(st.integers(0, 10**9))
def test_amounts_are_read_back(amount: int) -> None:
    assert numbers_in(reais(amount)) == [float(amount)]
