"""Result of a retraining: on the run's page, in MLflow, and what it cost."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from flows.runtime.console import say
from flows.runtime.runs import add_tags, is_recorded, log, show_markdown
from flows.stages.inputs import release_served_prompts
from flows.stages.runner import FRESH_FOLDER, Session, StageResult
from schemas.config.config import Config
from schemas.config.workers import price_per_hour
from tasks.evaluate.compare import compared_figures
from tasks.plan.training_plan import TrainingPlan
from tasks.train.sizing.estimate import cost_usd

Until = Literal["plan", "audit", "train", "evaluate", "promote"]


@dataclass(frozen=True)
class Retraining:
    """Result of a run of the chain, as far as it went."""

    stages: Mapping[str, StageResult]
    """Each stage's result, in order of execution; with several seeds each training is a stage."""
    seconds: float
    policies: Mapping[int, StageResult]
    report: Mapping[str, Any]
    """The evaluation's report.json; empty where nothing was evaluated."""
    decision: Mapping[str, Any]
    """The promotion's decision.json; empty where nothing was decided."""
    champion: str | None
    """The version that holds the alias now; a run after the deciding one may have moved it."""
    plan: TrainingPlan | None = None
    """The plan of the training, where one was made."""


def conclude(session: Session, result: Retraining, until: Until) -> None:
    """Show and record the results of a run that came to its end, and release what it kept for a resumed one."""
    config, report, decision = session.config, result.report, result.decision
    alias = config.promote.alias
    verdict = [f"The gate says **{decision['verdict']}** of version {decision['version']}."] if decision else []
    serves = f"`{alias}` is version {result.champion}." if result.champion else f"Nobody is `{alias}`."
    reasons = [f"- {reason}" for reason in decision.get("reasons", ())]
    opening = "\n".join([" ".join([*verdict, serves]), "", *reasons])
    show_markdown(key="retraining", markdown=opening, description="What came of this run?")
    if until == "promote":
        release_served_prompts(config)
    if all(stage.reused for stage in result.stages.values()):
        why = "no data, configuration or code has changed since an earlier run, so nothing was made again"
        say(why)
        log(why)
    log(f"done: {decision['verdict'] if decision else f'until {until}'}")
    if is_recorded():
        # A run that made nothing must not take the marks of another that waits to be resumed.
        shutil.rmtree(config.state.root / FRESH_FOLDER, ignore_errors=True)
        tags = {"verdict": report["gate"]["verdict"]} if report else {}
        figures = {**(compared_figures(report) if report else {}), "seconds": result.seconds}
        # Of machines with a price; nothing where none has one.
        made = [stage for stage in result.stages.values() if not stage.reused and stage.record.worker]
        if cost := sum(cost_of(config, stage) for stage in made):
            figures["cost_usd"] = cost
        session.recorder.conclude(session.run, figures, tags, opening)
        add_tags(seed=str(config.seed), **tags)


def cost_of(config: Config, result: StageResult) -> float:
    """Return the cost in US dollars of a stage by the hourly price of its machine, a Spot price where it is one."""
    worker, recipe = result.record.worker, config.train
    device, spot = (worker.device, worker.spot) if worker else (None, False)
    price = price_per_hour(config.workers.prices, device, spot=spot, otherwise=recipe.price_per_hour)
    return cost_usd(result.seconds, price)
