import random
from itertools import chain

import pytest

from tasks.synthesize.market import CATEGORIES, ISSUES, MACHINE, SIZED, USED_UP, Thing
from tasks.synthesize.sentences import (
    DrawnWords,
    expand,
    of_person,
    read_patterns,
    read_words,
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


def test_a_drawn_word_stays_within_a_review_and_a_toy_is_for_a_child() -> None:
    drawn = DrawnWords({}, for_children=True, generator=random.Random(3))
    assert drawn["person"] == drawn["person"]
    assert drawn["person"] in read_words()["child"]
    assert drawn["of_person"] == of_person(drawn["person"])
    others = {DrawnWords({}, for_children=True, generator=random.Random(seed))["colour"] for seed in range(40)}
    assert len(others) > 5


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
