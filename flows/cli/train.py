"""Command `tucano train`: a training after the stages that it needs, and its estimate."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.chain import run_chain
from flows.cli.costs import cost_lines, costs_of
from flows.cli.options import Fresh, Json, Overrides, Profile, StateFolder, Yes, configured, emit
from flows.cli.tables.estimate import estimate_document, print_answer, print_details, print_stages
from flows.cli.tables.train import print_recipe, print_trainings
from flows.runtime.console import show
from flows.runtime.stores import open_store
from schemas.config.config import Config
from schemas.config.workers import price_per_hour
from schemas.errors import InputError
from tasks.train.sizing.estimate import cost_usd, estimate_training, training_prompts
from tasks.train.sizing.fit import refuse_unfit
from tasks.train.summaries import read_summary, rewards_by_task

if TYPE_CHECKING:
    from flows.stages.runner import StageResult


def train(
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    fresh: Fresh = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Only print what it would take, and whether it fits; nothing is written.",
        ),
    ] = False,
    long: Annotated[
        bool, typer.Option("--long", help="With --dry-run, print the whole recipe and where each figure is from, too.")
    ] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Train, and make before it what is not there yet. Run again, it resumes from its newest checkpoint."""
    config = configured(profile, overrides, state)
    if dry_run:
        _print_estimate(config, long=long, as_json=as_json)
        return
    if long:
        raise InputError("--long goes with --dry-run; give both, or neither")
    opening = f"train with profile {profile}, state in {config.state.root}"
    result = run_chain(config, profile, opening, until="train", fresh=fresh, yes=yes)
    trainings = [_as_document(policy, config) for policy in result.policies.values()]
    print_trainings(trainings)
    emit({"seconds": result.seconds, "trainings": trainings}, as_json=as_json)


def _as_document(policy: "StageResult", config: Config) -> dict[str, Any]:
    """Sum up a policy; of one made earlier the time is unknown, for an artifact holds no clock times.

    The cost is by the hourly price of the machine that trained it, taken from its record: a Spot price where the
    machine's end is announced.
    """
    summary, worker, recipe = read_summary(policy.path), policy.record.worker, config.train
    device, spot = worker.device if worker else None, recipe.preemption.notice_url is not None
    price = price_per_hour(config.workers.prices, device, spot=spot, otherwise=recipe.price_per_hour)
    return {
        **{name: summary[name] for name in ("seed", "steps", "stopped_early")},
        "tasks": rewards_by_task(summary),
        "seconds": None if policy.reused else policy.seconds,
        "cost_usd": None if policy.reused else cost_usd(policy.seconds, price),
        "machine": worker.model_dump(include={"machine", "device"}) if worker else None,
        "sha256": policy.record.sha256,
        "path": str(policy.path),
        "reused": policy.reused,
    }


def _print_estimate(config: Config, *, long: bool, as_json: bool) -> None:
    prompts, source = training_prompts(config, open_store(config))
    estimate = estimate_training(config, prompts)
    costs = costs_of(config, estimate)
    print_answer(config, estimate, cost_lines(costs))
    print_stages(estimate)
    if long:
        print_details(config, estimate, source)
        print_recipe(config.train)
    else:
        show("the recipe, and where each figure is from: --long")
    document = {
        "recipe": config.train.model_dump(mode="json"),
        "estimate": estimate_document(config, estimate, source),
        "costs": {
            **asdict(costs),
            "gain_of_a_task": costs.gain_of_a_task,
            "gain_overall": costs.gain_overall,
            "prompts_for_margin": costs.prompts_for_margin,
        },
    }
    emit(document, as_json=as_json)
    refuse_unfit(config)
