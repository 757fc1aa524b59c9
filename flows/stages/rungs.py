"""Answers of the rungs: what may be had of the base without training, by the names in `evaluate.rungs`."""

from typing import Final, NamedTuple

from flows.runtime.console import say
from flows.stages.answers import Answering, answer
from flows.stages.runner import StageResult
from schemas.config.config import Config
from schemas.config.evaluate import DRAWS, Rung
from schemas.errors import InputError

DRAWN: Final = "base-draws"
"""The base's answers from which several rungs choose."""


class RungAnswers(NamedTuple):
    """The answers artifact of a rung, or the draws from which it chooses."""

    name: str
    """Who answered, by its stage."""
    result: StageResult


def answer_rungs(
    config: Config, pipeline_run: str, dataset: StageResult, plan: StageResult, base: StageResult, *, fresh: bool
) -> dict[Rung, RungAnswers]:
    """Let the base answer for each rung; one that fails is said, and left out of the ladder."""
    if not config.evaluate.rungs:
        return {}
    who = Answering(DRAWN, base.record, None, draws=DRAWS)
    try:
        drawn = RungAnswers(DRAWN, answer(config, pipeline_run, dataset, plan, who, fresh=fresh))
    except InputError as error:
        say(f"evaluate: warning: {error}; the evaluation continues without {', '.join(config.evaluate.rungs)}")
        return {}
    return dict.fromkeys(config.evaluate.rungs, drawn)
