"""Costs of a retraining before they are spent: hours, money, people's scores, and what its test can decide."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import typer

from flows.cli.tucano import LOOKED
from flows.runtime.console import show
from flows.runtime.stores import open_store
from schemas.config.config import Config
from schemas.errors import InputError, Interrupted
from tasks.evaluate.stats.sample_size import detectable_effect, prompts_needed
from tasks.evaluate.stats.variance import MeanVariance
from tasks.train.sizing.estimate import Estimate, estimate_training, expected_prompts, training_prompts

SPREAD: Final = 0.30
"""Assumed standard deviation of a prompt's gain in reward; `tucano compare --plan` has that of an evaluation."""
VARIANCE: Final = MeanVariance(per_prompt=SPREAD**2, shared=0.0)


@dataclass(frozen=True)
class Costs:
    """Costs of a whole retraining in which nothing is reused, with every answer as long as allowed."""

    hours: float | None
    """None where a stage's time is unknown; then the prices are None too."""
    unknown: str | None
    """Why the hours are unknown; None where they are known."""
    dollars: float | None
    """On demand."""
    spot_dollars: float | None
    reais_per_dollar: float | None
    scores: int
    """Completions that people score before the first training with these rewards; 0 where none need to."""
    test_prompts: tuple[int, ...]
    """Test prompts of each task."""
    margin: float

    @property
    def gain_of_a_task(self) -> float:
        """Smallest true gain that the task with fewest test prompts shows four times in five."""
        return detectable_effect(VARIANCE, min(self.test_prompts))

    @property
    def gain_overall(self) -> float:
        """Smallest true mean gain over all tasks that is shown four times in five."""
        return detectable_effect(VARIANCE, sum(self.test_prompts))

    @property
    def prompts_for_margin(self) -> int | None:
        """Test prompts with which a task decides a difference as large as the margin."""
        return prompts_needed(VARIANCE, self.margin)

    def reais(self, dollars: float) -> float | None:
        """Return an amount in reais; None without a rate."""
        return None if self.reais_per_dollar is None else dollars * self.reais_per_dollar


def costs_of(config: Config, estimate: Estimate) -> Costs:
    """Return the costs of a retraining by its estimate."""
    tasks = [task for task, count in config.synthesize.counts.items() if count]
    return Costs(
        hours=None if estimate.seconds is None else estimate.seconds / 3600,
        unknown="nothing here says how large the model is until it was fetched once"
        if estimate.stages is None
        else next((stage.time.source for stage in estimate.stages if stage.time.seconds is None), None),
        dollars=estimate.on_demand,
        spot_dollars=estimate.spot,
        reais_per_dollar=config.workers.reais_per_dollar,
        scores=len(tasks) * config.audit.scores_per_task
        if config.audit.require_human and config.audit.sheet is None
        else 0,
        test_prompts=tuple(config.curate.test_rows(task) for task in tasks),
        margin=config.evaluate.margin,
    )


def expected_costs(config: Config) -> Costs:
    """Return the costs of a retraining by its configuration alone."""
    return costs_of(config, estimate_training(config, expected_prompts(config)))


def cost_lines(costs: Costs) -> Iterator[str]:
    """Yield a sentence for each thing that a retraining costs, and one for what its test split can decide."""
    yield _spent(costs)
    if costs.scores:
        yield f"people's scores: {costs.scores} completions before the first training with these rewards"
    fewest, every = min(costs.test_prompts), sum(costs.test_prompts)
    yield (
        f"test split: a task of {fewest} prompts shows a true gain of {costs.gain_of_a_task:.2f} four times in five, "
        f"and all {every} one of {costs.gain_overall:.2f}, where prompts' gains have the standard deviation "
        f"{SPREAD:.2f}; to decide evaluate.margin {costs.margin:g} takes {costs.prompts_for_margin} prompts of a task"
    )


def confirm_costs(config: Config, *, yes: bool) -> None:
    """Print what a run with a price costs, and on a terminal ask whether to spend it; scheduled runs are not asked.

    Args:
        config: The configuration.
        yes: Do not ask.

    Raises:
        InputError: The person said no.
    """
    if not (config.train.price_per_hour or config.workers.prices):
        return
    prompts, _ = training_prompts(config, open_store(config))
    for line in cost_lines(costs_of(config, estimate_training(config, prompts))):
        show(line)
    if yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    try:
        spends = typer.confirm("Spend it?", err=True)
    except typer.Abort:
        # Ctrl-C at the question, which Click takes for itself.
        raise Interrupted(LOOKED) from None
    if not spends:
        raise InputError("nothing was started; lower train.max_steps or train.seeds, or answer yes next time")


def _spent(costs: Costs) -> str:
    if costs.hours is None or costs.dollars is None or costs.spot_dollars is None:
        return f"costs: unknown, for {costs.unknown}"
    if not costs.dollars:
        return f"costs at most: {costs.hours:.1f} h of this machine, whose hour has no price"
    rate = f", at {costs.reais_per_dollar:g} reais a dollar" if costs.reais_per_dollar is not None else ""
    return (
        f"costs at most: {costs.hours:.1f} h, {_money(costs, costs.dollars)} on demand, "
        f"{_money(costs, costs.spot_dollars)} on Spot machines{rate}; what is finished already is not paid again"
    )


def _money(costs: Costs, dollars: float) -> str:
    reais = costs.reais(dollars)
    return f"${dollars:.2f}" if reais is None else f"${dollars:.2f} (R$ {reais:.2f})"
