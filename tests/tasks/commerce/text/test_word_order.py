import random
from pathlib import Path

import pytest

from tasks.commerce.text import word_order_training
from tasks.commerce.text.remembered import LONGEST_KEPT_WORD, MAX_KEPT_WORDS
from tasks.commerce.text.text_form import fluency, words
from tasks.commerce.text.word_classes import FILE, NUMBER, OTHER, ZERO, read_class
from tasks.commerce.text.word_order import _model, order

UNSEEN = Path(__file__).with_name("unseen_sentences.txt").read_text(encoding="utf-8").splitlines()
"""Sentences of a shop that the model was not trained on."""


def shuffled(text: str, seed: int) -> list[str]:
    found = words(text)
    random.Random(f"{seed}:{text}").shuffle(found)
    return found


@pytest.mark.parametrize("text", UNSEEN)
def test_sentences_are_fluent(text: str) -> None:
    assert fluency(words(text)) == 1.0


@pytest.mark.parametrize(("fewest", "most", "seen"), [(8, 11, 0.4), (12, 16, 0.7), (17, 99, 0.9)])
def test_most_sentences_in_another_order_are_not(fewest: int, most: int, seen: float) -> None:
    salads = [shuffled(text, seed) for text in UNSEEN if fewest <= len(words(text)) <= most for seed in range(20)]
    assert len(salads) >= 100
    assert sum(fluency(salad) <= 0.3 for salad in salads) / len(salads) >= seen


def test_salad_in_a_part_of_a_long_text_shows() -> None:
    right = words(" ".join(UNSEEN[-12:]))
    wrong = shuffled(" ".join(UNSEEN[-3:]), 1)
    assert fluency(right) == 1.0
    assert fluency([*right, *wrong, *right[:30]]) <= 0.3


def test_a_class_is_a_word_s_own_or_its_longest_ending_s() -> None:
    classes = {"entrega": 3, "-cao": 4, "-o": 5}
    assert [read_class(word, classes) for word in ("entrega", "promocao", "prazo", "lugar", "12,5")] == [
        3,
        4,
        5,
        OTHER,
        NUMBER,
    ]


def test_unknown_words_are_no_evidence() -> None:
    evidence = order(["скидка"] * 9)
    assert len(evidence) == 10
    assert all(abs(each - ZERO) < 48 for each in evidence)
    assert order([]) != []


def test_hostile_words_are_not_kept_without_end() -> None:
    memory, _ = _model()
    order([f"{'z' * (number % 9)}{number}" for number in range(MAX_KEPT_WORDS + 99)])
    order(["z" * (LONGEST_KEPT_WORD + 1)])
    assert len(memory) <= MAX_KEPT_WORDS
    assert "z" * (LONGEST_KEPT_WORD + 1) not in memory
    memory.clear()


@pytest.mark.slow
def test_training_makes_the_shipped_bytes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in word_order_training.SOURCES:
        (tmp_path / name).symlink_to(FILE.with_name(name))
    monkeypatch.setattr(word_order_training, "FILE", tmp_path / FILE.name)
    word_order_training.main()
    assert (tmp_path / FILE.name).read_bytes() == FILE.read_bytes()
