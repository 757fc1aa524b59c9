"""Sentiment: the polarity of a review and its score from 1 to 5, as one small JSON object.

`grounded`, components in [0, 1]:

- `json`: the form, as in extraction: 1 for the object alone, less with chatter, less again where it was repaired.
  Counts in full only as far as `types` are right, and a quarter at least. Gamed by a valid object without sense.
- `types`: fields that pass their check, over the two that are asked for and any that are not. Gamed by one fixed
  object for every review.
- `polarity`: 1 for the reference's, 0.2 where only one of the two is neutral, 0 for the opposite. Gamed by the
  likeliest polarity.
- `score`: 1 for the reference's, 0.6 for one star off, 0.2 for two. Gamed by the middle of the scale.

Where polarity and score contradict each other, as praise with one star does, both keep a quarter of what they would
earn, unless the reference says the same: who names both ends knows neither. One fixed object earns 0.69 a review on a
simulated store of 20,000 orders (ceiling 0.75), as six in ten reviews are positive.

Source: DESIGN, the commerce tasks (the answer is scored); source portfolio, sentiment analysis.

`v4.2`: the final report has no reward of sentiment; this is its reward of extraction by analogy (`json` a dict that can
be read, `schema` fields present of two, `types` checks passed of two). It knows no right answer, nor the rating, which
is the question here. Gamed by one fixed object, which earns everything.
"""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from schemas.documents import Rollout
from schemas.store import Store
from tasks.commerce.commerce_task import CommerceTask, Reference, Reward, Score, fill_unknown
from tasks.commerce.example import Example
from tasks.commerce.json_fields import (
    REPORT_WEIGHTS,
    SENTIMENTS,
    is_sentiment,
    is_stars,
    report_components,
    sentiment_contradicts,
)
from tasks.commerce.parser import parse_object
from tasks.commerce.prompt_rounds import distinct_prompts
from tasks.commerce.review_cases import ReviewCase, review_cases, sentiment_of
from tasks.commerce.sandbox import Databases
from tasks.commerce.text_form import ramp
from tasks.commerce.wordings import read_wording

WORDING: Final = read_wording("sentiment")
WEIGHTS: Final = {"json": 0.15, "types": 0.10, "polarity": 0.45, "score": 0.30}
CHECKS: Final[Mapping[str, Callable[[Any], bool]]] = {"polarity": is_sentiment, "score": is_stars}
CONTRADICTED: Final = 0.25


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield examples from the store's reviews, in random order; the rating is the question, so it is not told."""
    cases = review_cases(store)
    for case, prompt in distinct_prompts(cases, WORDING.instructions, _prompt, generator, count):
        reference = {"polarity": case.known["sentiment"], "score": case.known["sentiment_score"]}
        yield Example("sentiment", WORDING.system, prompt, reference, case.customer_id, case.order_id, case.review_id)


def _prompt(case: ReviewCase, instruction: str) -> str:
    return f"{instruction}\nAvaliação: {case.text}"


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
    polarity, stars = fields.get("polarity"), fields.get("score")
    polarity = polarity if is_sentiment(polarity) else None
    stars = stars if is_stars(stars) else None
    types = ((polarity is not None) + (stars is not None)) / len(fields.keys() | CHECKS.keys())
    wanted = reference or {}
    true_polarity, true_stars = wanted.get("polarity"), wanted.get("score")
    contradicts = sentiment_contradicts(polarity, stars) and not sentiment_contradicts(true_polarity, true_stars)
    kept = parsed.trust * (CONTRADICTED if contradicts else 1.0)
    components = {
        "json": parsed.cleanliness * (0.25 + 0.75 * types),
        "types": parsed.trust * types,
        "polarity": None if true_polarity is None else kept * _polarity_agreement(polarity, true_polarity),
        "score": None if true_stars is None else kept * _stars_agreement(stars, true_stars),
    }
    return Score(fill_unknown(components, WEIGHTS), parsed.value)


def _polarity_agreement(found: str | None, wanted: str) -> float:
    if found is None:
        return 0.0
    return (1.0, 0.2, 0.0)[abs(SENTIMENTS.index(found) - SENTIMENTS.index(wanted))]


def _stars_agreement(found: int | None, wanted: int) -> float:
    return 0.0 if found is None else ramp(abs(found - wanted), 2.5, 0)


def v42_score(completion: str, prompt: str, reference: Reference | None, databases: Databases | None) -> Score:  # noqa: ARG001 - every task's signature
    """Score a dict, its two fields and their types."""
    parsed = parse_object(completion)
    return Score(report_components(parsed.trust, parsed.value or {}, tuple(CHECKS), CHECKS), parsed.value)


def metric(rollouts: Sequence[Rollout], databases: Databases | None) -> dict[str, float]:  # noqa: ARG001 - every task's signature
    """Return accuracy and macro-F1 of the polarity.

    The macro-F1 is the mean over the polarities that occur in a reference or in an answer, as scikit-learn's is; an
    answer without a readable polarity is wrong, and no class of its own.
    """
    pairs: list[tuple[str, str | None]] = []
    for rollout in rollouts:
        wanted = (rollout.reference or {}).get("polarity")
        if wanted is not None:
            found = (parse_object(rollout.completion).value or {}).get("polarity")
            pairs.append((wanted, found if is_sentiment(found) else None))
    if not pairs:
        return {}
    asked, answered = Counter(wanted for wanted, _ in pairs), Counter(found for _, found in pairs)
    right = Counter(wanted for wanted, found in pairs if wanted == found)
    named = [label for label in SENTIMENTS if asked[label] or answered[label]]
    return {
        "accuracy": right.total() / len(pairs),
        "macro_f1": sum(2 * right[label] / (asked[label] + answered[label]) for label in named) / len(named),
    }


TASK: Final = CommerceTask(
    "sentiment",
    WORDING.system,
    examples,
    answer,
    {"grounded": Reward(WEIGHTS, score), "v4.2": Reward(REPORT_WEIGHTS, v42_score)},
    metric,
)
