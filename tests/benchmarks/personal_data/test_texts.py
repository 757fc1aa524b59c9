"""The committed texts: enough of each kind, each value at one place."""

from collections import Counter

import pytest

from benchmarks.personal_data.texts import KINDS, PlantedText, read_texts


@pytest.fixture(scope="module")
def texts() -> tuple[PlantedText, ...]:
    return read_texts()


def test_there_are_enough_of_each_kind(texts: tuple[PlantedText, ...]) -> None:
    planted = Counter(value.kind for text in texts for value in text.values)
    assert planted.total() >= 600
    assert planted.keys() == set(KINDS)
    assert min(planted.values()) >= 20
    assert sum(not text.values for text in texts) >= 300


def test_each_value_is_at_one_place_of_its_text_and_in_no_other_value(texts: tuple[PlantedText, ...]) -> None:
    for text in texts:
        places = sorted((text.text.index(value.value), len(value.value)) for value in text.values)
        assert [value.value for value in text.values if text.text.count(value.value) != 1] == []
        ends = [start + length for start, length in places]
        assert all(end <= start for end, (start, _) in zip(ends, places[1:], strict=False)), text.text
