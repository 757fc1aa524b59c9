"""Pushes: nothing for one with a fault; then how its opener fits, whether others begin so, and its length.

`grounded`, components in [0, 1]; the checker (`tasks.commerce.push.checker`) says what may be sent:

- `fit`: 1 for an opener of the product's group, a quarter for one that suits every product, 0 for none. A product of no
  group has no better one: then a general opener earns all. Gamed by one opener for each group.
- `variety`: the share of a step's other pushes that begin otherwise; 1 where a push is scored alone. So one opener for
  all earns 0.6 at most within a step. Gamed by openers in turn, whatever the audience.
- `length`: 1 up to 90 graphemes filled in, then down to 0.5 at 120. Gamed by leaving the closer out.

A push with a fault earns 0. No reference is read: the product and the offer of the prompt decide.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from tasks.commerce.push.checker import LONGEST, fault_of, fill, graphemes, parts_of, read_campaign
from tasks.commerce.push.phrases import suiting
from tasks.commerce.reward import Reference, Score, StepReward

WEIGHTS: Final = {"fit": 0.4, "variety": 0.4, "length": 0.2}
NOTHING: Final = Score(dict.fromkeys(WEIGHTS, 0.0))
OF_GENERAL_OPENER: Final = 0.25
SEEN_AT_ONCE: Final = 90
"""Graphemes that a phone's list of notifications shows before it is unfolded."""
OF_LONGEST: Final = 0.5


def score(completion: str, prompt: str, _reference: Reference | None, _: object) -> Score:
    """Score the opener and the length of a push without a fault."""
    campaign, parts = read_campaign(prompt), parts_of(completion)
    if campaign is None or parts is None or fault_of(completion, campaign):
        return NOTHING
    own = suiting(*campaign).own
    over = max(0, graphemes(fill(completion, campaign)) - SEEN_AT_ONCE) / (LONGEST - SEEN_AT_ONCE)
    fit = 1.0 if parts.opener in own or not own else OF_GENERAL_OPENER
    return Score({"fit": fit if parts.opener else 0.0, "variety": 1.0, "length": 1 - (1 - OF_LONGEST) * over})


def shares_that_begin_otherwise(completions: Sequence[str]) -> list[float]:
    """Return, for each push, the share of the others whose opener is another; 1 where there is no other."""
    openers = [parts.opener if (parts := parts_of(each)) else "" for each in completions]
    counts, others = Counter(openers), len(openers) - 1
    return [(len(openers) - counts[opener]) / others if others else 1.0 for opener in openers]


REWARD: Final = StepReward(WEIGHTS, score, component="variety", among=shares_that_begin_otherwise)
