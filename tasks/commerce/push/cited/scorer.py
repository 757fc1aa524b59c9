"""Pushes in phrases: nothing for a push with a fault."""

import re
from typing import TYPE_CHECKING, Final

from tasks.commerce.push.cited.checker import fault_of
from tasks.commerce.reward import Reference, Reward, Score

if TYPE_CHECKING:
    from tasks.commerce.sql_qa.sandbox import Databases

WEIGHTS: Final = {"sound": 1.0}
_CAMPAIGN: Final = re.compile(r"^Produto: (.+)\nOferta: (.+)$", re.MULTILINE)


def score(completion: str, prompt: str, reference: Reference | None, databases: "Databases | None") -> Score:  # noqa: ARG001 - every task's signature
    """Score the push."""
    campaign = _CAMPAIGN.search(prompt)
    return Score({"sound": float(campaign is not None and fault_of(completion, *campaign.groups()) is None)})


REWARD: Final = Reward(WEIGHTS, score)
