"""Prices of a training before it starts, and the questions that a person at a terminal answers.

Hours and dollars are of the estimate (`tasks.train.sizing`), with every answer as long as allowed.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import typer

from flows.runtime.console import show
from schemas.config.config import Config
from schemas.errors import InputError, Interrupted
from tasks.evaluate.stats.variance import MeanVariance, detectable_effect, prompts_needed
from tasks.plan.training_plan import Price, in_dollars
from tasks.train.sizing.estimate import CPU_UNKNOWN, DPO_UNKNOWN, Estimate, estimate_training, expected_prompts

_ASKS: Final = ContextVar("asks", default=False)
UNANSWERED: Final = "interrupted, and nothing was changed; run the same command again"
WORTH: Final = "worth"
SPREAD: Final = 0.30
"""Assumed standard deviation of a prompt's gain in reward."""
VARIANCE: Final = MeanVariance(per_prompt=SPREAD**2, shared=0.0)


def costs_of(config: Config, estimate: Estimate) -> dict[str, Any]:
    """Return as a JSON document what a retraining costs, with nothing reused and every answer as long as allowed.

    `scores` counts the completions that people score before the first training with these rewards. `gain_of_a_task` and
    `gain_overall` are the smallest true gains that the smallest task, and all, show four times in five.
    """
    tasks = [task for task, count in config.synthesize.counts.items() if count]
    test_prompts = [config.curate.test_rows(task) for task in tasks]
    seconds = estimate.total("seconds")
    people_score = config.audit.require_human and config.audit.sheet is None
    return {
        "hours": None if seconds is None else seconds / 3600,
        "unknown": None if seconds is not None and estimate.shape else unknown_cost(config, estimate),
        "dollars": estimate.total("cost_usd"),
        "spot_dollars": estimate.total("spot_usd"),
        "reais_per_dollar": config.workers.reais_per_dollar,
        "scores": len(tasks) * config.audit.scores_per_task if people_score else 0,
        "test_prompts": test_prompts,
        "margin": config.evaluate.margin,
        "gain_of_a_task": detectable_effect(VARIANCE, min(test_prompts)),
        "gain_overall": detectable_effect(VARIANCE, sum(test_prompts)),
        "prompts_for_margin": prompts_needed(VARIANCE, config.evaluate.margin),
    }


def unknown_cost(config: Config, estimate: Estimate) -> str:
    """Return why an estimate has no time."""
    if estimate.shape is None:
        return "nothing here says how large the model is until it was fetched once"
    return CPU_UNKNOWN if config.train.algorithm == "grpo" else DPO_UNKNOWN


def cost_lines(costs: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each thing that a retraining costs, and one for what its test split can decide."""
    rate = costs["reais_per_dollar"]
    by_rate = "" if rate is None else f", at {rate:g} reais a dollar"
    if scores := costs["scores"]:
        yield f"people first: {scores} completions to score, {scores / 60:.1f} h at a minute each, before any training"
    if costs["hours"] is None or costs["dollars"] is None or costs["spot_dollars"] is None:
        yield f"costs: unknown, for {costs['unknown']}"
    elif not costs["dollars"]:
        yield f"costs at most: {costs['hours']:.1f} h of a machine whose hour has no price"
    else:
        yield (
            f"costs at most: {costs['hours']:.1f} h, {in_dollars(costs['dollars'], rate)} on demand, "
            f"{in_dollars(costs['spot_dollars'], rate)} on Spot machines{by_rate}; "
            "what is finished already is not paid again"
        )
    fewest, every = min(costs["test_prompts"]), sum(costs["test_prompts"])
    yield (
        f"test split: a task of {fewest} prompts shows a true gain of {costs['gain_of_a_task']:.2f} four times in "
        f"five, and all {every} one of {costs['gain_overall']:.2f}, where prompts' gains have the standard deviation "
        f"{SPREAD:.2f}; to decide evaluate.margin {costs['margin']:g} takes {costs['prompts_for_margin']} prompts of a "
        "task"
    )


def confirm_costs(config: Config, *, yes: bool) -> None:
    """Print what a run with a price costs, and on a terminal ask whether to spend it; InputError where not."""
    if not has_price(config):
        return
    for line in cost_lines(costs_of(config, estimate_training(config, expected_prompts(config)))):
        show(line)
    if not (yes or confirmed("Spend it?")):
        raise InputError("nothing was started; lower train.max_steps or train.seeds, or answer yes next time")


def has_plan(config: Config, until: str) -> bool:
    """Return whether a run up to a stage makes a plan, which is asked about; all before it costs a dollar or two."""
    recipe = config.train
    return bool(recipe.max_steps) and (until in {"evaluate", "promote"} or (until == "train" and recipe.tasks == WORTH))


def has_price(config: Config) -> bool:
    """Return whether hours of a run cost money."""
    return bool(config.train.price_per_hour or config.workers.prices)


def confirmed(question: str) -> bool:
    """Return the answer of a person at a terminal; yes where nobody is there. Interrupted at Ctrl-C."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return True
    try:
        return bool(typer.confirm(question, err=True))
    except typer.Abort:  # Ctrl-C at the question, which Click takes for itself.
        raise Interrupted(UNANSWERED) from None


@contextmanager
def asking(asks: bool) -> Iterator[None]:
    """Ask a person at a terminal during the block before a training that costs money; outside nobody is asked."""
    token = _ASKS.set(asks)
    try:
        yield
    finally:
        _ASKS.reset(token)


def is_asking() -> bool:
    """Return whether a person is to be asked."""
    return _ASKS.get()


def price_of(config: Config) -> Price:
    """Return the price of a recipe's trainings with their preflights."""
    rate, estimate = config.workers.reais_per_dollar, estimate_training(config, expected_prompts(config))
    stages = [each for each in estimate.stages or () if each.name.startswith(("train", "preflight"))]
    figures = [(each.seconds, each.cost_usd, each.spot_usd) for each in stages]
    if not figures or any(None in each for each in figures):
        return Price(reais_per_dollar=rate, unknown=unknown_cost(config, estimate))
    seconds, dollars, on_spot = (sum(filter(None, each)) for each in zip(*figures, strict=True))
    return Price(seconds / 3600, dollars, on_spot, rate)
