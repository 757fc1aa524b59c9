"""Answers of the rungs: what may be had of the base at less cost, by the names in `evaluate.rungs`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple, TypeVar

from flows.runtime.console import warn
from flows.stages.answers import Answering, answer
from flows.stages.base import tuned_on_references
from flows.stages.child_pool import ChildPool, do_all
from flows.stages.runner import StageResult
from schemas.config.config import Config
from schemas.config.evaluate import Rung
from schemas.errors import Interrupted, TucanoError

GUIDED: Final[Rung] = "base-guided"
SFT: Final[Rung] = "sft"
MODEL_STAGE: Final = f"model-{SFT}"

Result = TypeVar("Result")


class RungAnswers(NamedTuple):
    """Stages of a rung."""

    name: str
    """Who answered, by its stage."""
    result: StageResult
    """The answers artifact."""
    made: Mapping[str, StageResult] = {}
    """The model that was made for it, by its stage; empty where the base or the policy answers."""


@dataclass
class Rungs:
    """Rungs that answered, and those that are left out of the ladder."""

    answered: dict[Rung, RungAnswers] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    """Why each failed, in a sentence."""


Made = StageResult | TucanoError
"""What was made for a rung, or why it could not be."""
Makers = Mapping[str, Callable[[], Made]]


def rung_makers(
    config: Config,
    pipeline_run: str,
    dataset: StageResult,
    base: StageResult,
    pool: ChildPool | None,
    *,
    fresh: bool,
) -> Makers:
    """Return what makes the models that rungs answer with, by stage: from the base alone, without the test split.

    Args:
        config: The run's configuration, which names the rungs.
        pipeline_run: MLflow's run of which this is a part.
        dataset: The splits.
        base: The base.
        pool: Runs the children; None: each is alone.
        fresh: Make all again.
    """
    if SFT not in config.evaluate.rungs:
        return {}
    tune = partial(tuned_on_references, config, pipeline_run, dataset, base, pool, fresh=fresh)
    return {MODEL_STAGE: partial(_try, tune)}


def answer_rungs(
    config: Config,
    pipeline_run: str,
    dataset: StageResult,
    plan: StageResult,
    base: StageResult,
    made: Mapping[str, Made],
    pool: ChildPool | None,
    *,
    fresh: bool,
) -> Rungs:
    """Let each rung answer; one that fails is said, and left out of the ladder.

    Args:
        config: The run's configuration, which names the rungs.
        pipeline_run: MLflow's run of which this is a part.
        dataset: The splits.
        plan: The plan of the evaluation.
        base: The base.
        made: What came of `rung_makers`.
        pool: Runs the children; None: each is alone.
        fresh: Draw all answers again.

    Raises:
        Interrupted: A child was killed, or the run was interrupted: the same command resumes.
    """

    def answers(who: Answering, made: Mapping[str, StageResult] = {}) -> RungAnswers:
        return RungAnswers(who.name, answer(config, pipeline_run, dataset, plan, who, pool, fresh=fresh), made)

    def on_references() -> RungAnswers:
        model = _result(made[MODEL_STAGE])
        return answers(Answering(SFT, model.record, None), {MODEL_STAGE: model})

    asked, rungs = config.evaluate.rungs, Rungs()
    ways: Mapping[Rung, Callable[[], RungAnswers]] = {
        GUIDED: lambda: answers(Answering(GUIDED, base.record, None, guided="all")),
        SFT: on_references,
    }
    outcomes = do_all(pool, {str(rung): partial(_try, make) for rung, make in ways.items() if rung in asked})
    for rung in ways:
        outcome = outcomes.get(rung)
        if isinstance(outcome, RungAnswers):
            rungs.answered[rung] = outcome
        elif outcome is not None:
            warn(f"{outcome}; the evaluation continues without {rung}", "evaluate")
            # No path of this machine stands in an artifact.
            rungs.left_out[rung] = str(outcome).replace(str(config.state.root.resolve()), "the state folder")
    rungs.answered = {rung: rungs.answered[rung] for rung in asked if rung in rungs.answered}
    return rungs


def _try(make: Callable[[], Result]) -> Result | TucanoError:
    """Return the result, or the error of a rung, which decides nothing.

    Raises:
        Interrupted: A child was killed, or the run was interrupted.
    """
    try:
        return make()
    except Interrupted:
        raise
    except TucanoError as error:
        return error


def _result(made: Made) -> StageResult:
    if isinstance(made, TucanoError):
        raise made
    return made
