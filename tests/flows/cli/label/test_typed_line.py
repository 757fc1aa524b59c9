"""A line is typed as people expect it."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.cli.label.keys import Key, Name
from flows.cli.label.typed_line import TypedLine

MOVES: tuple[Name, ...] = ("left", "right", "home", "end", "backspace", "delete", "clear", "up", "nothing")


def typed(*keys: Key | str) -> TypedLine:
    line = TypedLine("", 0, 12)
    for key in keys:
        for each in (Key("text", letter) for letter in key) if isinstance(key, str) else [key]:
            line = line.after(each)
    return line


@pytest.mark.parametrize(
    ("keys", "text", "place"),
    [
        (["ação"], "ação", 4),
        (["ac", Key("left"), "b"], "abc", 2),
        (["bc", Key("home"), "a", Key("end"), "d"], "abcd", 4),
        (["abc", Key("backspace")], "ab", 2),
        (["abc", Key("home"), Key("delete"), Key("backspace"), Key("left")], "bc", 0),
        (["abc", Key("clear"), "d"], "d", 1),
        (["a", Key("right"), Key("delete"), "b"], "ab", 2),
        (["a", Key("paste", "b\r\n\tc\x1b[A")], "ab c[A", 6),
        (["cafe\u0301"], "café", 4),
        (["doze letras!", "x"], "doze letras!", 12),
        (["nove sign", Key("paste", "1234"), "."], "nove sign.", 10),
    ],
)
def test_each_key_does_its_one_thing(keys: Sequence[Key | str], text: str, place: int) -> None:
    assert typed(*keys) == TypedLine(text, place, 12)


KEYS = st.one_of(
    st.sampled_from(MOVES).map(Key),
    st.text(min_size=1, max_size=1).filter(str.isprintable).map(lambda sign: Key("text", sign)),
    st.text(max_size=20).map(lambda text: Key("paste", text)),
)


@settings(deadline=None)
@given(st.lists(KEYS, max_size=30))
def test_a_line_stays_a_line(keys: Sequence[Key]) -> None:
    line = typed(*keys)
    assert 0 <= line.place <= len(line.text) <= line.most
    assert not line.text or line.text.isprintable()
