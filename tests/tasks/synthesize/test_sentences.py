import random
import string
from itertools import chain

import pytest

from tasks.synthesize.market import CATEGORIES, ISSUES, MACHINE, SIZED, USED_UP, Thing
from tasks.synthesize.sentences import (
    DrawnWords,
    continued,
    expand,
    of_person,
    own_sentences,
    read_patterns,
    read_words,
    say_days,
    sentences,
    words_of,
)

WHOLE_REVIEWS = ("brief", "brief_of_solid", "short", "titles", "emoji")
MARKS = ("", MACHINE, SIZED, USED_UP)
THINGS = {thing.kind: thing for category in CATEGORIES for thing in category.things}.values()


def patterns() -> dict[str, list[str]]:
    """All patterns of sentences, by section and key."""
    return {
        f"{section}.{key}": found
        for section, table in read_patterns().items()
        for key, found in table.items()
        if section not in WHOLE_REVIEWS
    }


def words(*, feminine: bool) -> dict[str, str]:
    given = {**words_of(Thing("coisa", feminine)), "y": "a", "delay": "2 dias"}
    return DrawnWords(given, for_children=False, generator=random.Random(1))


def test_there_are_far_more_than_sixty_sentence_patterns() -> None:
    every = list(chain.from_iterable(patterns().values()))
    assert len(every) >= 250
    assert len(set(every)) == len(every)


def test_every_issue_is_complained_of_explained_and_mocked() -> None:
    for section, least in (("complaints", 6), ("details", 3), ("ironies", 2)):
        assert set(read_patterns()[section]) == set(ISSUES)
        assert all(len(found) >= least for found in read_patterns()[section].values())


@pytest.mark.parametrize("feminine", [True, False])
def test_every_reading_of_every_pattern_is_filled_for_both_genders(feminine: bool) -> None:
    for table in read_patterns().values():
        for pattern in chain.from_iterable(table.values()):
            for reading in expand(pattern):
                text = reading.format_map(words(feminine=feminine))
                assert text
                assert not set("{}[]|") & set(text)
                assert "  " not in text
                assert text[-1] not in ".!,;: "


def test_no_pattern_names_a_gender_by_itself() -> None:
    for pattern in chain.from_iterable(patterns().values()):
        fields = {name for _, name, _, _ in string.Formatter().parse(pattern) if name}
        if "product" in fields:
            for article in (" o ", " a ", " um ", " uma ", " do ", " da "):
                assert f"{article}{{product}}" not in f" {pattern}"


def test_a_complaint_tells_one_issue_only() -> None:
    seen: dict[str, str] = {}
    for section, table in read_patterns().items():
        if section.startswith(("complaints", "ironies")):
            for issue, found in table.items():
                for reading in chain.from_iterable(map(expand, found)):
                    assert seen.setdefault(reading.lower(), issue) == issue


def test_every_kind_of_thing_has_sentences_and_every_sentence_a_kind() -> None:
    kinds = {thing.kind for category in CATEGORIES for thing in category.things} - {"other"}
    known = {section.partition("praises_of_")[2] for section in read_patterns() if section.startswith("praises_of_")}
    assert known - {"machines", "sized", "solid"} == kinds
    assert all(own_sentences("complaints", "flimsy", kind) for kind in kinds)


def test_a_drawn_word_stays_within_a_review_and_a_toy_is_for_a_child() -> None:
    drawn = DrawnWords({}, for_children=True, generator=random.Random(3))
    assert drawn["person"] == drawn["person"]
    assert drawn["person"] in read_words()["child"]
    assert drawn["of_person"] == of_person(drawn["person"])
    others = {DrawnWords({}, for_children=True, generator=random.Random(seed))["colour"] for seed in range(40)}
    assert len(others) > 5


@pytest.mark.parametrize(
    ("person", "said"),
    [("minha mãe", "da minha mãe"), ("meu neto", "do meu neto"), ("uma amiga", "de uma amiga")],
)
def test_a_person_is_joined_with_de(person: str, said: str) -> None:
    assert of_person(person) == said


def test_a_complaint_can_follow_mas() -> None:
    for mark in MARKS:
        for issue in ISSUES:
            own = chain.from_iterable(own_sentences("complaints", issue, thing.kind) for thing in THINGS)
            for reading in chain.from_iterable((*sentences("complaints", issue, mark), *own)):
                assert not reading.endswith("?")
                assert continued(reading.format_map(words(feminine=True)))[0].islower()


@pytest.mark.parametrize(
    ("mark", "fits", "unfit"),
    [
        (MACHINE, "{O} {product} não liga", "Veio a cor errada"),
        (SIZED, "Mandaram o tamanho errado", "Veio o modelo errado"),
        ("", "{O} {product} é muito frágil", "{O} {product} não liga"),
        (USED_UP, "{O} {product} veio com defeito", "{O} {product} é muito frágil"),
    ],
)
def test_only_what_fits_a_thing_is_said_of_it(mark: str, fits: str, unfit: str) -> None:
    said = {reading for issue in ISSUES for reading in chain.from_iterable(sentences("complaints", issue, mark))}
    assert fits in said
    assert unfit not in said


def test_articles_and_endings_agree() -> None:
    pattern = "{O} {product} {o} {do} {ao} {um} {esse} {meu} {x}"
    assert pattern.format_map(words_of(Thing("bolsa", feminine=True))) == "A bolsa a da à uma essa minha a"
    assert pattern.format_map(words_of(Thing("livro", feminine=False))) == "O livro o do ao um esse meu o"


@pytest.mark.parametrize(
    ("days", "said"),
    [(1, "1 dia"), (2, "2 dias"), (7, "7 dias"), (14, "2 semanas"), (15, "15 dias"), (32, "mais de um mês")],
)
def test_days_are_said_as_people_round_them(days: int, said: str) -> None:
    assert say_days(days) == said


def test_choices_are_read_in_every_way_and_leave_no_gaps() -> None:
    assert expand("Veio [bem|] mal [a|b]") == ("Veio bem mal a", "Veio bem mal b", "Veio mal a", "Veio mal b")


def test_every_thing_has_a_noun_and_a_known_mark() -> None:
    assert len(CATEGORIES) > 40
    for thing in chain.from_iterable(category.things for category in CATEGORIES):
        assert thing.mark in MARKS
        assert thing.noun[-1].isalnum()
        assert not thing.noun.startswith(("o ", "a "))
