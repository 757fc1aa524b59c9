import random
import re
import string
import tomllib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.synthesize.experience import Experience
from tasks.synthesize.market import CATEGORIES, ISSUES, Thing
from tasks.synthesize.review_text import PATTERNS_FILE, Style, write_message, write_title

PATTERNS = tomllib.loads(PATTERNS_FILE.read_text(encoding="utf-8"))
PLAIN = Style(
    drops_accents=False,
    small_letters=False,
    shouts_when_angry=False,
    abbreviates=False,
    misspells=False,
    exclaims=False,
    emoji=False,
)
BAG = Thing("bolsa", feminine=True)
BOOK = Thing("livro", feminine=False)

issue_sets = st.one_of(
    st.just(()),
    st.tuples(st.sampled_from(sorted(set(ISSUES) - {"lost", "canceled"}))),
    st.lists(st.sampled_from(sorted(set(ISSUES) - {"lost", "canceled"})), min_size=2, max_size=2, unique=True).map(
        tuple
    ),
    st.sampled_from([("lost",), ("canceled",), ("lost", "silent"), ("canceled", "silent")]),
)


@st.composite
def experiences(draw: st.DrawFn) -> Experience:
    issues = draw(issue_sets)
    score = draw(st.integers(1, 4) if issues else st.integers(3, 5))
    if score == 3:
        return Experience(score, issues, draw(st.booleans()), draw(st.booleans()))
    return Experience(score, issues, score > 3, score > 3)


def says(text: str, pattern: str) -> bool:
    """Tell whether a text holds a sentence pattern, whatever fills it."""
    pieces = [re.escape(literal) for literal, *_ in string.Formatter().parse(pattern)]
    return re.search(r"[\w\s-]*".join(pieces), text, flags=re.IGNORECASE) is not None


@given(experiences(), st.sampled_from([BAG, BOOK]), st.integers(1, 30), st.integers())
def test_a_review_tells_every_issue_and_no_other(experience: Experience, thing: Thing, days: int, seed: int) -> None:
    text = write_message(experience, thing, days, PLAIN, random.Random(seed))
    told = {
        issue for issue, patterns in PATTERNS["complaints"].items() if any(says(text, pattern) for pattern in patterns)
    }
    assert told == set(experience.issues)


@given(experiences(), st.integers())
def test_a_review_never_praises_what_went_wrong(experience: Experience, seed: int) -> None:
    text = write_message(experience, BOOK, 3, PLAIN, random.Random(seed))
    praised = {
        aspect for aspect, patterns in PATTERNS["praises"].items() if any(says(text, pattern) for pattern in patterns)
    }
    assert not {aspect for aspect in praised if experience.has(aspect)}
    if {"lost", "canceled"} & set(experience.issues):
        assert praised <= {"price"}


@given(experiences(), st.integers())
def test_three_stars_say_what_the_shopper_means_to_do(experience: Experience, seed: int) -> None:
    text = write_message(experience, BOOK, 3, PLAIN, random.Random(seed))
    intentions = {
        (True, True): "recommends_and_returns",
        (True, False): "only_recommends",
        (False, True): "only_returns",
        (False, False): "neither",
    }
    meant = intentions[experience.would_recommend, experience.repeat_intent]
    said = any(text.rstrip(".").endswith(closing) for closing in PATTERNS["closings"][meant])
    assert said or experience.score != 3


@given(experiences(), st.builds(Style, *[st.booleans()] * 7), st.integers())
def test_reviews_are_never_empty_nor_unfilled(experience: Experience, style: Style, seed: int) -> None:
    text = write_message(experience, BAG, 1, style, random.Random(seed))
    assert text.strip()
    assert not set("{}") & set(text)
    assert len(text) <= 220


def test_articles_and_endings_agree_with_the_thing() -> None:
    broken = Experience(1, ("broken",), would_recommend=False, repeat_intent=False)
    bag, book = (
        {write_message(broken, thing, 0, PLAIN, random.Random(seed)).strip(".") for seed in range(60)}
        for thing in (BAG, BOOK)
    )
    assert "A bolsa chegou danificada" in bag
    assert "O livro chegou danificado" in book


@pytest.mark.parametrize(("days", "words"), [(1, "1 dia "), (2, "2 dias ")])
def test_one_day_is_not_days(days: int, words: str) -> None:
    late = Experience(2, ("late",), would_recommend=False, repeat_intent=False)
    texts = [write_message(late, BOOK, days, PLAIN, random.Random(seed)) for seed in range(60)]
    assert any(words in text for text in texts)
    assert not any(re.search(r"\b1 dias\b", text) for text in texts)


@pytest.mark.parametrize(
    ("trait", "mark"),
    [
        ("drops_accents", lambda text: text.isascii()),
        ("small_letters", str.islower),
        ("shouts_when_angry", str.isupper),
        ("exclaims", lambda text: text.endswith("!")),
        ("emoji", lambda text: text[-1] in "😡😞👎"),
    ],
)
def test_each_trait_shows_in_an_angry_review(trait: str, mark: Callable[[str], bool]) -> None:
    late = Experience(1, ("late",), would_recommend=False, repeat_intent=False)
    style = Style(**{**vars(PLAIN), trait: True})
    texts = [write_message(late, BOOK, 5, style, random.Random(seed)) for seed in range(30)]
    assert all(mark(text) for text in texts)
    plain = [write_message(late, BOOK, 5, PLAIN, random.Random(seed)) for seed in range(30)]
    assert not all(mark(text) for text in plain)


def test_spelling_is_that_of_a_phone_or_of_a_hurry() -> None:
    silent = Experience(2, ("silent",), would_recommend=False, repeat_intent=False)
    for trait, word in (("abbreviates", r"\bmsg para|\bmsg pra"), ("misspells", r"\bmais\b")):
        style = Style(**{**vars(PLAIN), trait: True})
        liked = Experience(4, ("silent",), would_recommend=True, repeat_intent=True)
        texts = [
            write_message(experience, BOOK, 0, style, random.Random(seed))
            for experience in (silent, liked)
            for seed in range(40)
        ]
        assert any(re.search(word, text) for text in texts)


def test_a_title_fits_its_score() -> None:
    happy = Experience(5, (), would_recommend=True, repeat_intent=True)
    titles = {write_title(happy, PLAIN, random.Random(seed)) for seed in range(40)}
    assert titles == set(PATTERNS["titles"]["5"])


def test_every_issue_has_sentences_and_every_category_nouns() -> None:
    assert set(PATTERNS["complaints"]) == set(ISSUES)
    assert all(category.things for category in CATEGORIES)
