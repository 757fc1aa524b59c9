"""Reward of the V4.2 report on churn: risk, answer and the reasoning that data writes, so that rewards compare."""

from typing import TYPE_CHECKING, Final

from tasks.commerce.churn.checker import read_answer
from tasks.commerce.churn.render import render
from tasks.commerce.reward import Reference, Reward, Score
from tasks.commerce.text.json_fields import REPORT_WEIGHTS, is_boolean, is_share, is_text, report_components

if TYPE_CHECKING:
    from tasks.commerce.sql_qa.sandbox import Databases

CHECKS: Final = {"risk_score": is_share, "churn": is_boolean, "reasoning": is_text}


def score(completion: str, prompt: str, reference: Reference | None, databases: "Databases | None") -> Score:  # noqa: ARG001 - every task's signature
    """Score a readable object, its three fields and their types; the reasoning is that of the reasons that hold."""
    answer = read_answer(completion)
    if isinstance(answer, str):
        return Score(report_components(0.0, {}, tuple(CHECKS), CHECKS))
    text = render(completion, prompt).text
    fields = {"risk_score": answer.risk, "churn": answer.churn} | ({"reasoning": text} if text else {})
    return Score(report_components(1.0, fields, tuple(CHECKS), CHECKS), fields)


V42_REWARD: Final = Reward(REPORT_WEIGHTS, score)
