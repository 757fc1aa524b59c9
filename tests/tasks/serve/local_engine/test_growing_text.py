"""The text of a growing answer: its parts are the whole, and no character is broken."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.serve.local_engine.growing_text import UNFINISHED, GrowingText

NO_FIXTURE_RESET = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@NO_FIXTURE_RESET
@given(text=st.text(max_size=20) | st.text("ção👩\u200d💻🇧🇷é", max_size=20))
def test_characters_of_several_tokens_come_whole(policy: tuple[Any, Any], text: str) -> None:
    """The small tokenizer knows few words, so that most of these characters are several tokens."""
    _, tokenizer = policy
    text = text.replace(UNFINISHED, "?")
    growing = GrowingText(tokenizer)
    tokens = tokenizer.encode(text, add_special_tokens=False)
    parts = [growing.more(token) for token in tokens]
    whole = tokenizer.decode(tokens, skip_special_tokens=True)
    assert "".join(parts) + growing.rest(whole) == whole
    assert all(UNFINISHED not in part for part in parts)


@NO_FIXTURE_RESET
@given(numbers=st.lists(st.integers(0, 10_000), max_size=30))
def test_the_parts_of_any_tokens_are_the_whole_text(policy: tuple[Any, Any], numbers: list[int]) -> None:
    """Tokens of an untrained model are bytes that may be no text at all, and ends of turns."""
    _, tokenizer = policy
    tokens = [number % len(tokenizer) for number in numbers]
    growing = GrowingText(tokenizer)
    parts = [growing.more(token) for token in tokens]
    whole = tokenizer.decode(tokens, skip_special_tokens=True)
    assert "".join(parts) + growing.rest(whole) == whole
