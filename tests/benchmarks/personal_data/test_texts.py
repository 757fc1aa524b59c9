"""The committed texts: enough of each kind, each value at one place, numbers that are what they are called."""

from collections import Counter

import pytest
from benchmarks.personal_data.removal import PLACEHOLDER
from stdnum import luhn
from stdnum.br import cnpj, cpf

from benchmarks.personal_data.texts import KINDS, PlantedText, read_texts


@pytest.fixture(scope="module")
def texts() -> tuple[PlantedText, ...]:
    return read_texts()


def of(texts: tuple[PlantedText, ...], kind: str) -> list[tuple[str, str]]:
    return [(text.text, value.value) for text in texts for value in text.values if value.kind == kind]


def test_there_are_enough_of_each_kind(texts: tuple[PlantedText, ...]) -> None:
    planted = Counter(value.kind for text in texts for value in text.values)
    assert planted.total() >= 600
    assert planted.keys() == set(KINDS)
    assert min(planted.values()) >= 20
    assert sum(not text.values for text in texts) >= 300


def test_no_text_is_there_twice_or_has_a_placeholder(texts: tuple[PlantedText, ...]) -> None:
    assert [text for text, count in Counter(text.text for text in texts).items() if count > 1] == []
    assert [text.text for text in texts if PLACEHOLDER.search(text.text)] == []


def test_each_value_is_at_one_place_of_its_text_and_in_no_other_value(texts: tuple[PlantedText, ...]) -> None:
    for text in texts:
        places = sorted((text.text.index(value.value), len(value.value)) for value in text.values)
        assert [value.value for value in text.values if text.text.count(value.value) != 1] == []
        ends = [start + length for start, length in places]
        assert all(end <= start for end, (start, _) in zip(ends, places[1:], strict=False)), text.text


def test_a_cpf_without_valid_check_digits_is_called_one_in_its_text(texts: tuple[PlantedText, ...]) -> None:
    digits = [(text, "".join(filter(str.isdigit, value))) for text, value in of(texts, "cpf")]
    odd = [text for text, number in digits if not cpf.is_valid(number)]
    assert [text for text in odd if "cpf" not in text.lower()] == []
    assert len(odd) < len(digits) / 3
    assert {len(number) for _, number in digits} == {10, 11}
    assert all(cpf.is_valid(number.zfill(11)) for _, number in digits if len(number) == 10)


def test_other_numbers_have_valid_check_digits(texts: tuple[PlantedText, ...]) -> None:
    assert [value for _, value in of(texts, "cnpj") if not cnpj.is_valid(value)] == []
    cards = ["".join(filter(str.isdigit, value)) for _, value in of(texts, "card")]
    assert [number for number in cards if not luhn.is_valid(number)] == []


def test_harmless_texts_have_no_number_that_is_valid_as_a_document(texts: tuple[PlantedText, ...]) -> None:
    words = [word for text in texts if not text.values for word in text.text.split()]
    assert [word for word in words if cpf.is_valid(word) or cnpj.is_valid(word)] == []
