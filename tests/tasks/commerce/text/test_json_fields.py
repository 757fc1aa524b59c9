from collections.abc import Callable
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.commerce.text.json_fields import (
    is_boolean,
    is_sentiment,
    is_share,
    is_stars,
    read_number,
    read_share,
    report_components,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (0.8, 0.8),
        (1, 1.0),
        ("0,8", 0.8),
        (" 0.8 ", 0.8),
        ("0.850", 0.85),
        ("4,5", 4.5),
        ("-3", -3.0),
        ("80%", 0.8),
        ("12,5 %", 0.125),
        ("R$ 1.234,56", 1234.56),
        ("R$\u00a01.234,56", 1234.56),
        ("R$1.234.567", 1_234_567.0),
        ("12.345", 12_345.0),
    ],
)
def test_numbers_are_read_as_brazilians_write_them(value: object, number: float) -> None:
    assert read_number(value) == pytest.approx(number)


@pytest.mark.parametrize(
    "value",
    [
        True,
        False,
        None,
        "",
        "oito",
        "4,5 estrelas",
        "1 2",
        "8%0",
        "1,2,3",
        "٣",
        "1" * 25,
        "NaN",
        [],
        {},
        nan,
        inf,
        -inf,
        10**400,
    ],
)
def test_what_is_no_number_is_none(value: object) -> None:
    assert read_number(value) is None


@given(JSON)
def test_no_value_raises_and_shares_are_shares(value: object) -> None:
    share = read_share(value)
    assert share is None or 0 <= share <= 1
    assert is_share(value) is (share is not None)
    for check in (is_boolean, is_sentiment, is_stars):
        assert check(value) in (True, False)


@pytest.mark.parametrize(
    ("check", "right", "wrong"),
    [
        (is_boolean, [True, False], ["true", "delivery_issue", 1, 0, None]),
        (is_stars, [1, 5], [0, 6, 0.2, 1.0, True, "1", None]),
        (is_share, [0, 1, 0.5, "0,5", "50%"], [1.1, -0.1, 80, "80", True, None]),
        (is_sentiment, ["positive", "neutral", "negative"], ["positivo", "Positive", "", None, ["positive"]]),
    ],
)
def test_checks_are_strict(check: Callable[[object], bool], right: list[object], wrong: list[object]) -> None:
    assert all(map(check, right))
    assert not any(map(check, wrong))


def test_the_reports_components_are_shares_of_what_was_asked() -> None:
    checks = {"score": is_stars, "polarity": is_sentiment}
    assert report_components(1.0, {"score": 3, "other": 1}, ("score", "polarity"), checks) == {
        "json": 1.0,
        "schema": 0.5,
        "types": 0.5,
    }
    assert report_components(0.0, {}, ("score", "polarity"), checks) == {"json": 0.0, "schema": 0.0, "types": 0.0}
