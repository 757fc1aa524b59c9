from math import inf, nan

import pytest

from tasks.commerce.text.json_fields import read_number


@pytest.mark.parametrize(("value", "number"), [
    (0.8, 0.8), (1, 1.0), ("0,8", 0.8), (" 0.8 ", 0.8), ("0.850", 0.85), ("4,5", 4.5), ("-3", -3.0), ("80%", 0.8),
    ("12,5 %", 0.125), ("R$ 1.234,56", 1234.56), ("R$\u00a01.234,56", 1234.56), ("R$1.234.567", 1_234_567.0),
    ("12.345", 12_345.0),
])  # fmt: skip
def test_numbers_are_read_as_brazilians_write_them(value: object, number: float) -> None:
    assert read_number(value) == pytest.approx(number)


@pytest.mark.parametrize("value", [
    True, False, None, "", "oito", "4,5 estrelas", "1 2", "8%0", "1,2,3", "٣", "1" * 25, "NaN", [], {}, nan, inf, -inf,
    10**400,
])  # fmt: skip
def test_other_values_are_no_numbers(value: object) -> None:
    assert read_number(value) is None
