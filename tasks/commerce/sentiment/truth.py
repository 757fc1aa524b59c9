"""Ground truth of sentiment, from the reference alone.

The answer is what `json.loads` makes of the whole completion, or of one code fence around it; one with a field beside
the two is none. Unseen: a review that the stars do not fit, and what a neutral polarity hides.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from schemas.documents import Rollout
from tasks.commerce.truth_text import read_object

POLARITIES: Final = ("negative", "neutral", "positive")
_FIELDS: Final = frozenset(("polarity", "score"))
MOST_APART: Final = 4


def metric(rollouts: Sequence[Rollout], _: object) -> dict[str, float]:
    """Return accuracy and macro-F1 of the polarity, and the nearness of the stars.

    - `accuracy`: share of the answers whose polarity is the reference's. A constant earns the share of its polarity.
    - `macro_f1`: mean over the polarities that occur in a reference or in an answer, like scikit-learn's; an answer
      without a readable polarity is wrong, and no class of its own. A constant earns little.
    - `stars`: 1 minus the mean absolute error of the stars in quarters; no integer from 1 to 5 is as wrong as can be.
      The constant 3 earns at least one half.
    """
    pairs: list[tuple[str, str | None]] = []
    nearness: list[float] = []
    for rollout in rollouts:
        reference = rollout.reference or {}
        fields = read_object(rollout.completion) or {}
        # What another field says is not asked for: it may be an insult, a threat or a second answer.
        fields = fields if fields.keys() <= _FIELDS else {}
        wanted, stars = reference.get("polarity"), reference.get("score")
        if wanted is not None:
            found = fields.get("polarity")
            pairs.append((wanted, found if isinstance(found, str) and found in POLARITIES else None))
        if stars is not None:
            nearness.append(_nearness(fields.get("score"), stars))
    near = {"stars": sum(nearness) / len(nearness)} if nearness else {}
    if not pairs:
        return near
    asked, answered = Counter(wanted for wanted, _ in pairs), Counter(found for _, found in pairs)
    right = Counter(wanted for wanted, found in pairs if wanted == found)
    named = [label for label in POLARITIES if asked[label] or answered[label]]
    return {
        "accuracy": right.total() / len(pairs),
        "macro_f1": sum(2 * right[label] / (asked[label] + answered[label]) for label in named) / len(named),
        **near,
    }


def _nearness(found: object, wanted: int) -> float:
    return 1 - abs(found - wanted) / MOST_APART if type(found) is int and 1 <= found <= 1 + MOST_APART else 0.0
