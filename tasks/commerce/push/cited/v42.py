"""Reward of the V4.2 report on what a push in phrases becomes filled in, so that published rewards stay comparable."""

from typing import TYPE_CHECKING, Final

from tasks.commerce.push.cited.render import render
from tasks.commerce.push.scorer import V42_WEIGHTS, score_v42
from tasks.commerce.reward import Reference, Reward, Score

if TYPE_CHECKING:
    from tasks.commerce.sql_qa.sandbox import Databases


def score(completion: str, prompt: str, reference: Reference | None, databases: "Databases | None") -> Score:
    """Score the filled-in text; as no text what the checker refuses."""
    return score_v42(render(completion, prompt).text or "", prompt, reference, databases)


V42_REWARD: Final = Reward(V42_WEIGHTS, score)
