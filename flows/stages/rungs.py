"""Answers of the rungs: what may be had of the base at less cost, by the names in `evaluate.rungs`."""

from typing import Final, NamedTuple

from flows.runtime.console import say
from flows.stages.answers import Answering, answer
from flows.stages.base import tuned_on_references
from flows.stages.runner import StageResult
from schemas.config.config import Config
from schemas.config.evaluate import DRAWS, DRAWS_OF, Rung
from schemas.errors import InputError

DRAWN: Final = "base-draws"
"""The base's answers from which several rungs choose."""
GUIDED: Final[Rung] = "base-guided"
SFT: Final[Rung] = "sft"


class RungAnswers(NamedTuple):
    """Stages of a rung."""

    name: str
    """Who answered, by its stage."""
    result: StageResult
    """The answers artifact, or the draws from which the rung chooses."""
    model: StageResult | None = None
    """The model that was made for it, if any."""


def answer_rungs(
    config: Config, pipeline_run: str, dataset: StageResult, plan: StageResult, base: StageResult, *, fresh: bool
) -> dict[Rung, RungAnswers]:
    """Let the base answer for each rung; one that fails is said, and left out of the ladder."""

    def answers(who: Answering) -> StageResult:
        return answer(config, pipeline_run, dataset, plan, who, fresh=fresh)

    def drawn() -> RungAnswers:
        return RungAnswers(DRAWN, answers(Answering(DRAWN, base.record, None, draws=DRAWS)))

    def guided() -> RungAnswers:
        return RungAnswers(GUIDED, answers(Answering(GUIDED, base.record, None, guided="all")))

    def tuned() -> RungAnswers:
        model = tuned_on_references(config, pipeline_run, dataset, base, fresh=fresh)
        return RungAnswers(SFT, answers(Answering(SFT, model.record, None)), model)

    found: dict[Rung, RungAnswers] = {}
    of_draws = [rung for rung in config.evaluate.rungs if DRAWS_OF[rung] > 1]
    of_guidance = [rung for rung in config.evaluate.rungs if rung == GUIDED]
    of_tuning = [rung for rung in config.evaluate.rungs if rung == SFT]
    for rungs, make in ((of_draws, drawn), (of_guidance, guided), (of_tuning, tuned)):
        try:
            found |= dict.fromkeys(rungs, make()) if rungs else {}
        except InputError as error:
            say(f"evaluate: warning: {error}; the evaluation continues without {', '.join(rungs)}")
    return {rung: found[rung] for rung in config.evaluate.rungs if rung in found}
