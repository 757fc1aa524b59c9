"""Sentiment: the polarity of a review and its score from 1 to 5, as one small JSON object.

Components (each in [0, 1]):

- `json`: the form, as in extraction: 1 for the object alone, less with chatter, less again where it was repaired.
  Counts in full only as far as `types` are right, and a quarter at least. Gamed by a valid object without sense.
- `types`: fields that pass their check, over the two that are asked for and any that are not. Gamed by one fixed
  object for every review.
- `polarity`: 1 for the reference's, 0.25 where only one of the two is neutral, 0 for the opposite. Gamed by the
  likeliest polarity.
- `score`: 1 for the reference's, falling to 0 at three stars off. Gamed by the middle of the scale, worth 0.33 to 1.

Source: DESIGN, the commerce tasks (the answer is scored); source portfolio, sentiment analysis.
"""

import json
import random
from collections.abc import Iterator, Sequence
from typing import Final

from schemas.documents import Rollout
from schemas.store import Store
from tasks.commerce.commerce_task import CommerceTask, Reference, Reward, Score, fill_unknown
from tasks.commerce.example import Example
from tasks.commerce.extraction import SENTIMENTS, is_sentiment, is_stars
from tasks.commerce.parser import parse_object
from tasks.commerce.review_cases import review_cases, sentiment_of
from tasks.commerce.sandbox import Databases
from tasks.commerce.text_form import ramp
from tasks.commerce.wordings import read_wording

WORDING: Final = read_wording("sentiment")
WEIGHTS: Final = {"json": 0.25, "types": 0.15, "polarity": 0.35, "score": 0.25}


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield examples from the store's reviews, in random order; the rating is the question, so it is not told."""
    cases = review_cases(store)
    generator.shuffle(cases)
    seen: set[str] = set()
    for case in cases:
        if len(seen) == count:
            return
        prompt = f"{generator.choice(WORDING.instructions)}\nAvaliação: {case.text}"
        if prompt not in seen:
            seen.add(prompt)
            reference = {"polarity": case.known["sentiment"], "score": case.known["sentiment_score"]}
            yield Example(
                "sentiment", WORDING.system, prompt, reference, case.customer_id, case.order_id, case.review_id
            )


def answer(reference: Reference) -> str:
    """Return polarity and score as compact JSON; one that is not known follows from the other."""
    by_polarity = {"negative": 1, "neutral": 3, "positive": 5}
    stars = reference.get("score") or by_polarity.get(reference.get("polarity") or "", 3)
    polarity = reference.get("polarity") or sentiment_of(stars)
    return json.dumps({"polarity": polarity, "score": stars}, separators=(",", ":"))


def score(completion: str, prompt: str, reference: Reference | None, databases: Databases | None) -> Score:  # noqa: ARG001 - every task's signature
    """Score the form of the object, the polarity and the stars."""
    parsed = parse_object(completion)
    fields = parsed.value or {}
    polarity = fields.get("polarity") if is_sentiment(fields.get("polarity")) else None
    stars = fields.get("score") if is_stars(fields.get("score")) else None
    types = ((polarity is not None) + (stars is not None)) / max(2, len(fields.keys() | {"polarity", "score"}))
    wanted = reference or {}
    components = {
        "json": parsed.cleanliness * (0.25 + 0.75 * types),
        "types": parsed.trust * types,
        "polarity": _times(parsed.trust, _polarity_agreement(polarity, wanted.get("polarity"))),
        "score": _times(parsed.trust, _stars_agreement(stars, wanted.get("score"))),
    }
    return Score(fill_unknown(components, WEIGHTS), parsed.value)


def _times(trust: float, agreement: float | None) -> float | None:
    return None if agreement is None else trust * agreement


def _polarity_agreement(found: str | None, wanted: str | None) -> float | None:
    if wanted is None:
        return None
    if found is None:
        return 0.0
    return (1.0, 0.25, 0.0)[abs(SENTIMENTS.index(found) - SENTIMENTS.index(wanted))]


def _stars_agreement(found: int | None, wanted: int | None) -> float | None:
    if wanted is None:
        return None
    return 0.0 if found is None else ramp(abs(found - wanted), 3, 0)


def metric(rollouts: Sequence[Rollout], databases: Databases | None) -> dict[str, float]:  # noqa: ARG001 - every task's signature
    """Return accuracy and macro-F1 of the polarity; no readable polarity is a wrong one."""
    pairs = [
        (rollout.reference["polarity"], (parse_object(rollout.completion).value or {}).get("polarity"))
        for rollout in rollouts
        if rollout.reference and rollout.reference.get("polarity")
    ]
    if not pairs:
        return {}
    present = [label for label in SENTIMENTS if any(wanted == label for wanted, _ in pairs)]
    accuracy = sum(wanted == found for wanted, found in pairs) / len(pairs)
    return {"accuracy": accuracy, "macro_f1": sum(_f1(pairs, label) for label in present) / len(present)}


def _f1(pairs: Sequence[tuple[str, object]], label: str) -> float:
    right = sum(wanted == found == label for wanted, found in pairs)
    named = sum(wanted == label for wanted, _ in pairs) + sum(found == label for _, found in pairs)
    return 2 * right / named


TASK: Final = CommerceTask("sentiment", WORDING.system, examples, answer, {"grounded": Reward(WEIGHTS, score)}, metric)
