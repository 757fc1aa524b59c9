from collections import Counter

import pytest

from tasks.bag_of_words.classifier import Classifier, fit

TEXTS = (
    "chegou bem bem rápido",
    "adorei chegou rápido",
    "quebrou péssimo",
    "péssimo atraso quebrou",
    "ok atraso",
    "ok",
)
LABELS = ("bom", "bom", "ruim", "ruim", "meio", "meio")


def of_words(texts: tuple[str, ...], labels: tuple[str, ...]) -> Classifier:
    return fit([Counter(text.split()) for text in texts], labels, words=True)


@pytest.mark.parametrize("labels", [LABELS, ("bom", "bom", "ruim", "ruim", "bom", "ruim")])
def test_words_give_the_probabilities_of_scikit_learns_pipeline(labels: tuple[str, ...]) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    theirs = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(TEXTS, labels)
    ours = of_words(TEXTS, labels)
    for text in ("péssimo quebrou quebrou", "adorei ok", "palavra inédita", ""):
        (expected,) = theirs.predict_proba([text])
        assert list(ours.classes) == theirs.classes_.tolist()
        assert [*ours.probabilities(Counter(text.split())).values()] == pytest.approx(expected, abs=1e-3)


def test_the_unit_of_a_value_changes_nothing_and_a_larger_value_speaks_for_its_class() -> None:
    days = (3, 20, 45, 200, 340, 500)
    labels = ("fica", "fica", "sai", "fica", "sai", "sai")
    by_unit = [fit([{"dias": day * unit, "SP": 1.0} for day in days], labels, words=False) for unit in (1, 24)]
    one, other = (
        [found.probabilities({"dias": day * unit})["sai"] for day in (1, 100, 400)]
        for found, unit in zip(by_unit, (1, 24), strict=True)
    )
    assert one == pytest.approx(other, abs=1e-3)
    assert one == sorted(one) and 0.05 < one[0] < 0.5 < one[2] < 0.95


def test_without_words_or_with_one_class_the_classes_have_their_shares() -> None:
    one_class = of_words(("bom", "ótimo", "ruim"), ("a", "a", "a"))
    assert one_class.probabilities({"bom": 1.0}) == {"a": 1.0}
    no_words = of_words(("", "", "", ""), ("a", "b", "b", "b"))
    assert no_words.probabilities({"bom": 1.0}) == pytest.approx({"a": 0.25, "b": 0.75}, abs=1e-5)
