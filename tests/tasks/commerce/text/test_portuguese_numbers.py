import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.commerce.text.portuguese import decimal, numbers_in, percent, reais


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
