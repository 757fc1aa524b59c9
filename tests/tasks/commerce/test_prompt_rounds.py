import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tasks.commerce.example import distinct_prompts


def prompts(items: list[str], instructions: list[str], count: int) -> list[tuple[str, str]]:
    return list(distinct_prompts(items, instructions, lambda item, text: f"{text} {item}", random.Random(1), count))


@given(st.lists(st.sampled_from("abcdef"), max_size=9), st.integers(1, 4), st.integers(0, 40))
def test_as_many_as_asked_or_every_combination_once(items: list[str], wordings: int, count: int) -> None:
    made = prompts(items, [f"w{number}" for number in range(wordings)], count)
    assert len(made) == min(count, wordings * len(set(items)))
    assert len({prompt for _, prompt in made}) == len(made)
    assert all(prompt.endswith(item) for item, prompt in made)


def test_every_item_comes_once_before_any_comes_again() -> None:
    items = [str(number) for number in range(30)]
    made = prompts(items, ["a", "b", "c"], 90)
    for turn in range(3):
        assert {item for item, _ in made[30 * turn : 30 * turn + 30]} == set(items)
    assert Counter(prompt[0] for _, prompt in made[:30]) == {"a": 10, "b": 10, "c": 10}
