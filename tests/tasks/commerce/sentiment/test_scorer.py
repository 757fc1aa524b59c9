import json
import random
from itertools import product

from schemas.store.store import Store
from tasks.commerce.sentiment import prompts as sentiment_prompts
from tests.tasks.commerce.scoring import score


def test_one_fixed_object_stays_under_its_ceiling(store: Store) -> None:
    examples = list(sentiment_prompts.examples(store, random.Random(1), 100))
    for polarity, stars in product(("negative", "neutral", "positive"), range(1, 6)):
        fixed = json.dumps({"polarity": polarity, "score": stars})
        assert sum(score("sentiment", fixed, example.reference).reward for example in examples) < 0.75 * len(examples)
