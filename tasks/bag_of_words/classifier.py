"""Logistic regression on sparse features, words weighed by TF-IDF; kept as JSON, which runs no code when it is read.

scikit-learn fits it with its defaults. The arithmetic of an answer is here, so that serving needs no scikit-learn.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

Features = Mapping[str, float]
"""Values by feature; those that are not named are 0."""

MAX_ITERATIONS: Final = 1_000
DIGITS: Final = 6
"""Decimals of each number that is kept."""


class Classifier(BaseModel):
    """A fitted classifier."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    classes: tuple[str, ...]
    """In alphabetical order."""
    biases: tuple[float, ...]
    """One for each class, in the same order."""
    weights: dict[str, tuple[float, ...]]
    """By feature its weight for each class; empty where there was nothing to learn from."""
    idf: dict[str, float]
    """By word its smoothed inverse document frequency; empty where features are no words."""

    def probabilities(self, features: Features) -> dict[str, float]:
        """Return the probability of each class; unknown features count for nothing."""
        known = {name: value * self.idf.get(name, 1.0) for name, value in features.items() if name in self.weights}
        length = (math.hypot(*known.values()) if self.idf else 1.0) or 1.0
        logits = [
            bias + sum(value * self.weights[name][place] for name, value in known.items()) / length
            for place, bias in enumerate(self.biases)
        ]
        odds = [math.exp(logit - max(logits)) for logit in logits]
        return {label: each / sum(odds) for label, each in zip(self.classes, odds, strict=True)}


def fit(rows: Sequence[Features], labels: Sequence[str], *, words: bool) -> Classifier:
    """Fit a classifier; equal rows give equal numbers.

    Args:
        rows: Features of each row: how often it has each word, or other values.
        labels: Class of each row, as many as rows and at least one.
        words: Whether features are words, weighed by TF-IDF. Other values than 0 and 1 are standardized if not.
    """
    shares = Counter(labels)
    classes = tuple(sorted(shares))
    if len(classes) == 1 or not any(rows):
        biases = tuple(_rounded(math.log(shares[label] / len(labels))) for label in classes)
        return Classifier(classes=classes, biases=biases, weights={}, idf={})

    import numpy as np
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.linear_model import LogisticRegression

    vectors = DictVectorizer()
    matrix: Any = vectors.fit_transform(rows)
    names = vectors.get_feature_names_out().tolist()
    means, spreads = np.zeros(len(names)), np.ones(len(names))
    idf: dict[str, float] = {}
    if words:
        weighing = TfidfTransformer()
        matrix = weighing.fit_transform(matrix)
        idf = {name: _rounded(value) for name, value in zip(names, weighing.idf_, strict=True)}
    else:
        matrix = matrix.toarray()
        measured = ((matrix != 0) & (matrix != 1)).any(axis=0) & (matrix.std(axis=0) > 0)
        means[measured], spreads[measured] = matrix.mean(axis=0)[measured], matrix.std(axis=0)[measured]
        matrix = (matrix - means) / spreads
    model = LogisticRegression(max_iter=MAX_ITERATIONS).fit(matrix, labels)
    # For two classes scikit-learn has the weights of the second alone.
    weights, intercepts = (
        each if len(classes) > 2 else np.stack([np.zeros_like(each[0]), each[0]])
        for each in (model.coef_, model.intercept_)
    )
    weights = weights / spreads
    return Classifier(
        classes=classes,
        biases=tuple(map(_rounded, intercepts - weights @ means)),
        weights={name: tuple(map(_rounded, weights[:, place])) for place, name in enumerate(names)},
        idf=idf,
    )


def _rounded(value: float) -> float:
    return round(float(value), DIGITS)
