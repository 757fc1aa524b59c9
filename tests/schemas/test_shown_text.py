"""A hostile text is shown whole, and commands nothing."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.shown_text import as_shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Olá, ação! 50 % · ñ 漢 😀", "Olá, ação! 50 % · ñ 漢 😀"),
        ("\x1b[31mvermelho\x1b]0;t\x07", "␛[31mvermelho␛]0;t␇"),
        ("só\rvolta\x00\x08\x7f", "só␍volta␀␈\\x7f"),
        ("\u202eoiránit\u2066\u200f\u200b\ufeff", "\\u202eoiránit\\u2066\\u200f\\u200b\\ufeff"),
        ("família 👨\u200d👩\u200d👧", "família 👨\u200d👩\u200d👧"),
    ],
)
def test_control_characters_are_spelled_out(text: str, shown: str) -> None:
    assert as_shown(text) == shown


@settings(deadline=None)
@given(st.text(st.characters(), max_size=60))
def test_nothing_else_is_left(text: str) -> None:
    left = {sign for sign in as_shown(text) if unicodedata.category(sign) in {"Cc", "Cf", "Cs", "Zl", "Zp"}}
    assert left <= {"\n", "\u200d"}
