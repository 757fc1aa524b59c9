import random
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.synthesize.keyboard import Span, Style, type_out

SENTENCES = ["Não recebi o produto", "Quero meu dinheiro de volta, porque o prazo já passou", "Não recomendo"]
styles = st.builds(Style, *[st.booleans()] * 12)
moods = st.sampled_from(["positive", "neutral", "negative", "ironic"])
sentences = st.lists(st.sampled_from([*SENTENCES, "👍", "Ok", "10", "Cadê o livro?"]), min_size=1, max_size=4)


def typed(style: Style, mood: str = "negative", seed: int = 0) -> str:
    return type_out(SENTENCES, mood, style, random.Random(seed))[0]


@given(sentences, moods, styles, st.integers(), st.data())
def test_a_place_is_found_again_and_changes_no_letter(
    sentences: list[str], mood: str, style: Style, seed: int, data: st.DataObject
) -> None:
    number = data.draw(st.integers(0, len(sentences) - 1))
    starts = [found.start() for found in re.finditer(r"\b\w|^.", sentences[number])]
    place = Span(number, data.draw(st.sampled_from(starts)), len(sentences[number]))
    text, told = type_out(sentences, mood, style, random.Random(seed), place)
    assert text == type_out(sentences, mood, style, random.Random(seed))[0]
    assert told in text
    assert type_out(sentences, mood, Style(), random.Random(seed), place)[1] == sentences[number][place.start :]


@pytest.mark.parametrize(
    ("trait", "mark"),
    [
        ("drops_accents", str.isascii),
        ("small_letters", str.islower),
        ("capitals", str.isupper),
        ("shouts_when_angry", str.isupper),
        ("exclaims", lambda text: text.endswith("!")),
        ("commas", lambda text: "produto, quero" in text),
        ("emoji", lambda text: ord(text[-1]) > 0x2000),
        ("abbreviates", lambda text: re.search(r"\b[Nn]\b|\bñ\b|\bpq\b|Ñ", text) is not None),
    ],
)
def test_each_trait_shows_in_every_review(trait: str, mark: Callable[[str], bool]) -> None:
    style = Style(**{trait: True})
    assert all(mark(typed(style, seed=seed)) for seed in range(30) if trait != "abbreviates")
    assert sum(mark(typed(style, seed=seed)) for seed in range(30)) >= 28
    assert not any(mark(typed(Style(), seed=seed)) for seed in range(30))


def test_no_word_is_respelt_twice() -> None:
    sentences = ["Gostei, mas era para a minha mãe e para o meu filho"]
    style = Style(misspells=True, abbreviates=True)
    texts = " ".join(type_out(sentences, "positive", style, random.Random(seed))[0].lower() for seed in range(300))
    assert "+" not in texts
    texts = " ".join(
        type_out(sentences, "positive", Style(abbreviates=True), random.Random(seed))[0] for seed in range(99)
    )
    assert not re.search(r"\b(?:pra|p) [ao]\b", texts)
    assert " pra minha" in texts
    assert " pro meu" in texts
