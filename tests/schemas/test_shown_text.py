"""A hostile text is shown whole, and commands nothing."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.shown_text import as_shown
from tests.cases import cases_of

CASES = cases_of(__file__)


@pytest.mark.parametrize(("text", "shown"), CASES["control_characters_are_spelled_out"])
def test_control_characters_are_spelled_out(text: str, shown: str) -> None:
    assert as_shown(text) == shown


@settings(deadline=None)
@given(st.text(st.characters(), max_size=60))
def test_nothing_else_is_left(text: str) -> None:
    left = {sign for sign in as_shown(text) if unicodedata.category(sign) in {"Cc", "Cf", "Cs", "Zl", "Zp"}}
    assert left <= {"\n", "\u200d"}
