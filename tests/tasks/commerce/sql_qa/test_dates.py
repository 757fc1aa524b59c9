import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.commerce.sql_qa.dates import DATE_FUNCTIONS

MOMENTS = st.datetimes().map(lambda moment: moment.strftime("%Y-%m-%d %H:%M:%S"))
MODIFIERS = st.sampled_from(["+1 month", "-3 days", "start of month", "start of year", "weekday 0", "nonsense"])


@given(moment=MOMENTS, modifiers=st.lists(MODIFIERS, max_size=2))
def test_dates_are_what_sqlite_makes_of_them(moment: str, modifiers: list[str]) -> None:
    plain = sqlite3.connect(":memory:")
    for name, function in DATE_FUNCTIONS.items():
        arguments = ["%Y-%m-%d %H %w"] * (name == "strftime") + [moment, *modifiers]
        places = ", ".join("?" * len(arguments))
        assert function(*arguments) == plain.execute(f"SELECT {name}({places})", arguments).fetchone()[0]
    plain.close()


@pytest.mark.parametrize("arguments", [
    (), ("now",), ("NOW",), ("now\0",), (b"now",), ("2018-01-01", "localtime"), ("2018-01-01", "UTC"), ("subsec",),
])  # fmt: skip
def test_nothing_reads_the_clock_or_the_time_zone(arguments: tuple[str | bytes, ...]) -> None:
    for name, function in DATE_FUNCTIONS.items():
        with pytest.raises(ValueError, match="would read the clock"):
            function(*(("%Y",) * (name == "strftime")), *arguments)
