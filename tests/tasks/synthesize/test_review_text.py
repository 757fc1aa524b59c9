import random
import re
import string
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from tasks.synthesize.keyboard import Style
from tasks.synthesize.market import ISSUES, MACHINE, SIZED, USED_UP, Thing
from tasks.synthesize.review_text import write_message
from tasks.synthesize.sentences import (
    ANYTHING,
    of_person,
    own_sentences,
    read_patterns,
    read_words,
    say_days,
    sentences,
    words_of,
)
from tasks.synthesize.shopping import Experience

PLAIN = Style()
MIXER = Thing("batedeira", feminine=True, mark=MACHINE, kind="kitchen_appliance")
DRESS = Thing("vestido", feminine=False, mark=SIZED, kind="clothing")
BOOK = Thing("livro", feminine=False, kind="book")
PERFUME = Thing("perfume", feminine=False, mark=USED_UP, kind="perfume")

issue_sets = st.one_of(
    st.just(()),
    st.tuples(st.sampled_from(sorted(ISSUES))),
    st.lists(
        st.sampled_from(sorted(set(ISSUES) - {"waiting", "lost", "canceled"})), min_size=2, max_size=2, unique=True
    ).map(tuple),
    st.sampled_from([("waiting", "silent"), ("lost", "silent"), ("canceled", "silent")]),
)
things = st.sampled_from([MIXER, DRESS, BOOK, PERFUME])


@st.composite
def experiences(draw: st.DrawFn) -> Experience:
    issues = draw(issue_sets)
    score = draw(st.integers(1, 4) if issues else st.integers(1, 5))
    if score == 3:
        return Experience(score, issues, draw(st.booleans()), draw(st.booleans()))
    return Experience(score, issues, score > 3, score > 3)


def readings(section: str, key: str, thing: Thing) -> Iterator[str]:
    own = own_sentences(section, key, thing.kind)
    return chain.from_iterable((*sentences(section, key, thing.mark), *own))


@cache
def pattern(section: str, key: str, thing: Thing, days: int = 3) -> re.Pattern[str]:
    """Match all that a plain shopper can say of a key, in small letters."""
    names = (words_of(thing), words_of(Thing(ANYTHING, feminine=False)))
    found = {
        _regex(reading, {**name, "delay": say_days(days), "y": "o"})
        for reading in readings(section, key, thing)
        for name in names
    }
    return re.compile("|".join(sorted(found, key=len, reverse=True)) or "(?!)")


def _regex(reading: str, words: dict[str, str]) -> str:
    parts = []
    for text, name, _, _ in string.Formatter().parse(reading):
        parts.append(re.escape(text.lower()))
        if name in words:
            parts.append(re.escape(words[name].lower()))
        elif name == "of_person":
            parts.append(_any(map(of_person, read_words()["person"])))
        elif name:
            parts.append(_any(read_words()[name]))
    return "".join(parts)


def _any(words: Iterable[str]) -> str:
    return f"(?:{'|'.join(sorted((re.escape(word.lower()) for word in words), key=len, reverse=True))})"


def says(text: str, section: str, key: str, thing: Thing) -> bool:
    return pattern(section, key, thing).search(text.lower()) is not None


def write(experience: Experience, thing: Thing, seed: int, style: Style = PLAIN) -> str:
    return write_message(experience, thing, 3, style, random.Random(seed))[0]


@given(experiences(), things, st.integers())
def test_a_review_tells_every_issue_and_no_other(experience: Experience, thing: Thing, seed: int) -> None:
    text = write(experience, thing, seed)
    mentioned = {
        found.complaint
        for issue, found in ISSUES.items()
        if says(text, "complaints", issue, thing) or says(text, "ironies", issue, thing)
    }
    assert mentioned == {ISSUES[issue].complaint for issue in experience.issues}


@given(experiences(), things, st.integers())
def test_a_review_never_praises_what_went_wrong(experience: Experience, thing: Thing, seed: int) -> None:
    if not experience.issues:
        return
    text = write(experience, thing, seed)
    # What stands before "mas" or alone; irony begins like praise and goes on otherwise.
    said = {re.split(r", (?:mas|porém|só que|pena que) ", sentence)[0] for sentence in re.split(r"[.?] ", text.lower())}
    praised = {
        aspect
        for aspect in read_patterns()["praises"]
        if any(pattern("praises", aspect, thing).fullmatch(sentence.rstrip(".")) for sentence in said)
    }
    assert not {aspect for aspect in praised if experience.has(aspect)}
    if {"waiting", "lost", "canceled"} & set(experience.issues):
        assert praised == set()


@given(experiences(), things, st.builds(Style, *[st.booleans()] * 12), st.integers(1, 40), st.integers())
def test_reviews_are_never_empty_unfilled_nor_endless(
    experience: Experience, thing: Thing, style: Style, days: int, seed: int
) -> None:
    text = write_message(experience, thing, days, style, random.Random(seed))[0]
    assert text.strip()
    assert not set("{}[]|") & set(text)
    assert len(text) <= 900
