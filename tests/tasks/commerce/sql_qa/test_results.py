import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.commerce.sql_qa.results import CELLS, ROWS, WRONG_COLUMN_ORDER, WRONG_ORDER, agreement, rows_f1, shape
from tasks.commerce.sql_qa.sandbox import Execution, Row

CELL = (
    st.none() | st.integers(-5, 5) | st.sampled_from(["a", "b"]) | st.floats(-5, 5).map(lambda value: round(value, 2))
)
RESULT = st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[CELL] * width), max_size=6))


def result(*rows: Row) -> Execution:
    return Execution(None, len(rows[0]) if rows else 1, rows, frozenset())


STATES = result(("SP", 10.5), ("RJ", 7.25), ("BA", 3.0))


@given(one=RESULT, other=RESULT)
def test_agreement_is_a_grade_and_full_only_for_equal_rows(one: list[Row], other: list[Row]) -> None:
    found = agreement(result(*one), result(*other), ordered=False)
    assert 0 <= found <= 1
    assert (found == 1.0) == (rows_f1(one, other) == 1.0)
    assert 0 <= shape(result(*one), result(*other)) <= 1


def test_unrounded_numbers_are_the_rounded_ones() -> None:
    assert agreement(result(("SP", 10.4961), ("RJ", 7.2549), ("BA", 3)), STATES, ordered=True) == 1.0
    assert agreement(result(("SP", 10.52), ("RJ", 7.25), ("BA", 3.0)), STATES, ordered=True) < 0.6


def test_order_of_rows_counts_where_it_is_asked_and_order_of_columns_a_little() -> None:
    backwards = result(*reversed(STATES.rows))
    turned = result(*((value, name) for name, value in STATES.rows))
    assert agreement(backwards, STATES, ordered=False) == 1.0
    assert agreement(backwards, STATES, ordered=True) == WRONG_ORDER
    assert agreement(turned, STATES, ordered=True) == WRONG_COLUMN_ORDER


@pytest.mark.parametrize("wrong", [
    result(("SP", 10.5), ("RJ", 7.25)), result(("SP", 1.0), ("RJ", 2.0), ("BA", 4.0)), result((10.5,), (7.25,), (3.0,)),
    result(("SP", 10.5, 1), ("RJ", 7.25, 1), ("BA", 3.0, 1)), result(("SP", 10.5), ("SP", 10.5), ("RJ", 7.25)),
])  # fmt: skip
def test_a_wrong_result_earns_by_what_agrees(wrong: Execution) -> None:
    assert 0 < agreement(wrong, STATES, ordered=False) < ROWS + CELLS


def test_digits_are_the_same_as_text_and_as_a_number() -> None:
    months, numbers = result(("07", 3), ("11", 4)), result((7, 3), (11, 4))
    assert agreement(numbers, months, ordered=True) == agreement(months, numbers, ordered=True) == 1.0
    assert agreement(result(("2017-07",)), result((2017,)), ordered=True) < 1.0
    assert agreement(result(("\u0667", 3), ("11", 4)), numbers, ordered=True) < 1.0
