import re
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import pytest
from matplotlib import rc_context

from tasks.evaluate.report.page import draw
from tasks.report.canvas import BLUE, add_axes, canvas, svg
from tasks.report.number_format import decimal, interval, p_value, percent, signed
from tasks.report.page import page_template
from tasks.report.wording import spoken
from tests.tasks.evaluate.small_comparison import comparison

PAGE: Final = (
    '{% extends "page.html.j2" %}{% block title %}{{ title }}{% endblock %}'
    "{% block body %}<p>{{ text }}</p>{{ figure | safe }}{% endblock %}"
)


def rendered(folder: Path, source: str = PAGE, **values: str) -> str:
    file = folder / "report.html.j2"
    file.write_text(source, encoding="utf-8")
    return page_template(file, loud=str.upper).render(**{"title": "t", "text": "x", "figure": "<svg/>"} | values)


@pytest.mark.parametrize("place", ["title", "text"])
def test_a_text_is_escaped_and_what_nobody_sees_is_spelled_out(tmp_path: Path, place: str) -> None:
    page = rendered(tmp_path, **{place: "<script>\u202e\x1b"})
    assert "&lt;script&gt;\\u202e␛" in page
    assert "\u202e" not in page


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


def drawn(label: str = "two curves") -> str:
    with canvas(4, 2) as figure:
        axes = add_axes(figure, left=0.5, right=0.25, bottom=0.4, top=0.1)
        axes.plot([0, 1], [1, 0], "o-", color=BLUE)
        axes.scatter(range(30), range(30))
        axes.set_xlabel("training step")
        return svg(figure, label)


def test_equal_numbers_give_equal_bytes_without_date_and_tool_whatever_the_user_set() -> None:
    as_shipped = drawn()
    assert as_shipped == drawn()
    assert "metadata" not in as_shipped
    # As a `matplotlibrc` of the current folder sets it.
    with rc_context({"lines.linewidth": 9, "figure.dpi": 50, "axes.grid": True}):
        assert drawn() == as_shipped


def test_a_label_is_an_attribute_whatever_its_signs() -> None:
    label = 'a < "b" & c'
    assert ET.fromstring(drawn(label)).get("aria-label") == label  # noqa: S314 - of our own making
