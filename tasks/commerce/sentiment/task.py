"""Sentiment: polarity and score of a review."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Final

from schemas.documents import Rollout
from tasks.commerce.commerce_task import CommerceTask, described
from tasks.commerce.faults import spoil_json
from tasks.commerce.reward import Reference
from tasks.commerce.sentiment.scorer import REWARDS, WORDING
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.commerce.text.json_fields import SENTIMENTS, is_sentiment, sentiment_of
from tasks.commerce.text.parser import parse_object


def answer(reference: Reference) -> str:
    """Return polarity and score as compact JSON; an unknown one follows from the other."""
    by_polarity = {"negative": 1, "neutral": 3, "positive": 5}
    stars = reference.get("score") or by_polarity.get(reference.get("polarity") or "", 3)
    polarity = reference.get("polarity") or sentiment_of(stars)
    return json.dumps({"polarity": polarity, "score": stars}, separators=(",", ":"))


def metric(rollouts: Sequence[Rollout], databases: Databases | None) -> dict[str, float]:  # noqa: ARG001 - every task's signature
    """Return accuracy and macro-F1 of the polarity.

    The macro-F1 is the mean over the polarities that occur in a reference or in an answer, like scikit-learn's; an
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
    name="sentiment",
    description=described(__doc__),
    system=WORDING.system,
    answer=answer,
    rewards=REWARDS,
    metric=metric,
    answer_metrics=("accuracy",),
    content=frozenset({"polarity", "score"}),
    faults=spoil_json,
    answers_in_json=True,
    asked_by_reference=False,
    prompt_is_unread=True,
)
