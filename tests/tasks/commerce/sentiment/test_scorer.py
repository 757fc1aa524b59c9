import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.store.store import Store
from tasks.commerce.sentiment import prompts as sentiment_prompts
from tasks.commerce.sentiment.truth import metric
from tests.tasks.commerce.scoring import score


def test_one_fixed_object_stays_under_its_ceiling(store: Store) -> None:
    examples = list(sentiment_prompts.examples(store, random.Random(1), 100))
    for polarity in ("negative", "neutral", "positive"):
        for stars in range(1, 6):
            fixed = json.dumps({"polarity": polarity, "score": stars})
            mean = sum(score("sentiment", fixed, example.reference).reward for example in examples) / len(examples)
            assert mean < 0.75


@given(st.lists(st.tuples(*[st.sampled_from(["negative", "neutral", "positive"])] * 2), min_size=1, max_size=30))
@settings(deadline=None, max_examples=30)
def test_the_metric_is_that_of_scikit_learn(answers: list[tuple[str, str]]) -> None:
    judge: Any = pytest.importorskip("sklearn.metrics")
    wanted, found = zip(*answers, strict=True)
    measured = metric(
        [
            score("sentiment", f'{{"polarity": "{answer}"}}', {"polarity": asked, "score": 3})
            for asked, answer in answers
        ],
        None,
    )
    assert measured["macro_f1"] == pytest.approx(judge.f1_score(wanted, found, average="macro", zero_division=0))
    assert measured["accuracy"] == pytest.approx(judge.accuracy_score(wanted, found))
