import random
import re
import string
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.synthesize.experience import Experience
from tasks.synthesize.keyboard import Style
from tasks.synthesize.market import ISSUES, MACHINE, SIZED, USED_UP, Thing
from tasks.synthesize.review_text import write_message, write_title
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

PLAIN = Style()
WOMAN = Style(feminine=True)
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


@given(experiences(), things, st.integers())
def test_irony_is_for_the_displeased_only(experience: Experience, thing: Thing, seed: int) -> None:
    text = write(experience, thing, seed)
    ironic = any(says(text, "ironies", issue, thing) for issue in ISSUES)
    assert not (ironic and experience.sentiment != "negative")


def test_some_of_the_displeased_are_ironic() -> None:
    late = Experience(1, ("late",), would_recommend=False, repeat_intent=False)
    ironic = sum(says(write(late, BOOK, seed), "ironies", "late", BOOK) for seed in range(1000))
    assert 10 < ironic < 70


@given(experiences(), things, st.integers())
def test_three_stars_say_what_the_shopper_means_to_do(experience: Experience, thing: Thing, seed: int) -> None:
    end = write(experience, thing, seed).rstrip(".").lower().replace("? ", ". ").split(". ")[-1]
    intentions = {
        (True, True): "recommends_and_returns",
        (True, False): "only_recommends",
        (False, True): "only_returns",
        (False, False): "neither",
    }
    said = {
        name
        for name in intentions.values()
        for section in ("closings", "closings_despite")
        if pattern(section, name, thing).fullmatch(end)
    }
    meant = intentions[experience.would_recommend, experience.repeat_intent]
    assert said <= {meant}
    assert said or experience.score != 3


@given(experiences(), things, st.builds(Style, *[st.booleans()] * 12), st.integers(1, 40), st.integers())
def test_reviews_are_never_empty_unfilled_nor_endless(
    experience: Experience, thing: Thing, style: Style, days: int, seed: int
) -> None:
    text = write_message(experience, thing, days, style, random.Random(seed))[0]
    assert text.strip()
    assert not set("{}[]|") & set(text)
    assert len(text) <= 900


@given(experiences(), things, st.integers())
def test_sentences_are_put_together_as_one_writes(experience: Experience, thing: Thing, seed: int) -> None:
    text = write(experience, thing, seed)
    assert not re.search(r", [A-ZÁÉÓ]|\. [a-záéó]|[.!?,]{2}|  | [.,!?]", text)
    assert not re.search(r", (?:mas|porém|só que|pena que) [A-ZÁÉÓ]", text)
    sentences = text.rstrip(".").split(". ")
    assert len(set(sentences)) == len(sentences)


# What must not stand together, whatever else is said; found by reading.
BROKEN_AND_WRONG = (
    r"defeito|quebrad|danificad|outra coisa|produto errado|outro produto|qualidade é|de baixa qualidade"
    r"|incompleto|faltando"
)
CONTRADICTIONS = [
    (BROKEN_AND_WRONG, r"boa qualidade|preço e vale a pena|valeu cada centavo|custo-benefício|ótimo preço|bom preço"),
    (
        BROKEN_AND_WRONG,
        r"ótimos produtos|(?<!não )recomendo o produto|indico o produto|sem problemas, mas|entrega perfeita",
    ),
    (r"atras|não chegou|fora do prazo|errad|defeito", r"nunca me decepcionei|com o combinado|nunca tive problema"),
    (
        r"caro|não compensa|não vale o que custa|salgado|mais barat",
        r"valeu a pena|valeu cada centavo|ótimo preço|custo-benefício",
    ),
    (r"veio quebrad|chegou quebrad|danificad|defeito", r"chegou direitinho|perfeito estado"),
    (
        r"\b1 dia\b",
        r"demorar tanto|um tempão|demorou|demoraram|muito lenta|super demorada|bem depois|parado dias|todo dia",
    ),
]


@given(experiences(), things, st.sampled_from([1, 9]), st.integers())
@settings(max_examples=600)
def test_nothing_stands_together_that_cannot(experience: Experience, thing: Thing, days: int, seed: int) -> None:
    text = write_message(experience, thing, days, PLAIN, random.Random(seed))[0].lower()
    # Irony says what is not so, and a denial ("não veio com defeito") or a fear ("podia ter quebrado") what was not.
    if experience.score <= 2 or not experience.issues:
        return
    without = re.sub(r"não veio com defeito nem faltando nada|não atrasou nem um dia|podia ter quebrado", "", text)
    assert [pair for pair in CONTRADICTIONS if re.search(pair[0], without) and re.search(pair[1], without)] == []


@pytest.mark.parametrize(("days", "long"), [(1, False), (3, False), (4, True), (9, True)])
def test_only_a_long_delay_is_reported_as_one(days: int, long: bool) -> None:
    late = Experience(1, ("late",), would_recommend=False, repeat_intent=False)
    texts = [write_message(late, BOOK, days, PLAIN, random.Random(seed))[0].lower() for seed in range(300)]
    assert any(re.search(r"demorar tanto|um tempão|demorou|muito lenta", text) for text in texts) == long


def test_what_is_used_up_is_never_pretty() -> None:
    happy = Experience(5, (), would_recommend=True, repeat_intent=True)
    assert not any(re.search(r"\blind[oa]\b|bonit", write(happy, PERFUME, seed).lower()) for seed in range(400))
    assert any("lindo" in write(happy, BOOK, seed).lower() for seed in range(400))


def test_a_thing_keeps_its_gender_through_a_review() -> None:
    broken = Experience(1, ("broken",), would_recommend=False, repeat_intent=False)
    texts = [write(broken, MIXER, seed).lower() for seed in range(300)]
    named = [text for text in texts if "batedeira" in text]
    assert any("a batedeira chegou danificada" in text for text in named)
    assert any("o produto chegou danificado" in text for text in texts)
    assert any("outra no lugar" in text for text in texts)
    assert not any("danificado" in text or "outro no lugar" in text for text in named)


def test_a_shopper_keeps_her_own_gender() -> None:
    happy = Experience(5, (), would_recommend=True, repeat_intent=True)
    hers = " ".join(write(happy, BOOK, seed, WOMAN) for seed in range(200)).lower()
    his = " ".join(write(happy, BOOK, seed) for seed in range(200)).lower()
    assert "satisfeita" in hers
    assert "satisfeito" not in hers
    assert "satisfeito" in his
    assert "satisfeita" not in his


def test_what_does_not_run_is_never_said_not_to_run() -> None:
    broken = Experience(1, ("broken",), would_recommend=False, repeat_intent=False)
    assert any("não liga" in write(broken, MIXER, seed) for seed in range(200))
    assert not any("não liga" in write(broken, BOOK, seed) for seed in range(200))


def test_reviews_are_of_every_length() -> None:
    happy = Experience(5, (), would_recommend=True, repeat_intent=True)
    lost = Experience(1, ("lost",), would_recommend=False, repeat_intent=False)
    lengths = [len(write(experience, BOOK, seed)) for experience in (happy, lost) for seed in range(500)]
    assert min(lengths) <= 6
    assert sum(length < 20 for length in lengths) > 20
    assert sum(length > 200 for length in lengths) > 20
    assert sum(length > 350 for length in lengths) < 40


def test_who_is_terse_writes_less() -> None:
    lost = Experience(1, ("lost",), would_recommend=False, repeat_intent=False)

    def length(style: Style) -> int:
        return sum(len(write(lost, BOOK, seed, style)) for seed in range(200))

    assert length(Style(terse=True)) < 0.8 * length(PLAIN)


@pytest.mark.parametrize("score", [1, 2, 4, 5])
def test_who_says_nothing_in_particular_may_say_one_word(score: int) -> None:
    unexplained = Experience(score, (), would_recommend=score > 3, repeat_intent=score > 3)
    texts = {write(unexplained, BOOK, seed).rstrip(".").lower() for seed in range(100)}
    brief, short = (pattern(section, str(score), BOOK) for section in ("brief", "short"))
    assert any(brief.fullmatch(text) for text in texts)
    assert any(short.fullmatch(text) for text in texts)
    assert score > 3 or all(brief.fullmatch(text) or short.fullmatch(text) for text in texts)


def test_a_title_fits_its_score() -> None:
    happy = Experience(5, (), would_recommend=True, repeat_intent=True)
    titles = {write_title(happy, PLAIN, random.Random(seed)).rstrip(".").lower() for seed in range(300)}
    assert titles == {reading.format(y="o").lower() for reading in readings("titles", "5", BOOK)}
