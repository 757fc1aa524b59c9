import re

from tasks.evaluate.report.page import draw
from tasks.report.language import spoken
from tasks.report.number_format import decimal, interval, p_value, percent, signed
from tests.tasks.evaluate.small_comparison import comparison


def test_numbers_have_signs_and_floors_and_in_portuguese_a_decimal_comma_in_figures_too() -> None:
    assert [signed(value) for value in (0.1234, -0.1, -0.0001, None)] == ["+0.123", "−0.100", "0.000", "unknown"]
    assert [p_value(value) for value in (0.0001, 0.001, 0.5)] == ["< 0.001", "0.001", "0.500"]
    assert (decimal(1234.5, 1), percent(-0.31)) == ("1,234.5", "−31 %")
    with spoken("pt"):
        assert (decimal(1234.5, 1), signed(-0.25), p_value(0.0001), percent(-0.31)) == (
            "1.234,5",
            "−0,250",
            "< 0,001",
            "−31%",
        )
        assert interval(-0.1, 0.1) == "−0,100 a +0,100"
        figure = draw(comparison())["forest"]
    ticks = re.findall(r">(−?\d[.,]\d+)<", figure)
    assert ticks and all("," in tick for tick in ticks)
