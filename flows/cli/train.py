"""Commands `tucano train` and `tucano evaluate`: one stage after those it needs, and the estimate of a training."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.options import Fresh, Json, Overrides, Profile

if TYPE_CHECKING:
    from flows.retrain import Retraining, Until
    from flows.stages.runner import StageResult
    from schemas.config.config import Config


def train(
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    fresh: Fresh = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Only print the recipe, what it would take, and whether it fits; nothing is written.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Train, and make before it what is not there yet. Run again, it resumes from its newest checkpoint."""
    from schemas.config.profiles import load_config

    config = load_config(profile, overrides)
    if dry_run:
        _print_estimate(config, as_json=as_json)
        return
    from flows.cli.tables.train import print_trainings

    result = _run(config, profile, until="train", fresh=fresh)
    trainings = [_as_document(policy, config) for policy in result.policies.values()]
    print_trainings(trainings)
    if as_json:
        typer.echo(json.dumps({"seconds": result.seconds, "trainings": trainings}, ensure_ascii=False))


def evaluate(
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    fresh: Fresh = False,
    as_json: Json = False,
) -> None:
    """Evaluate on the test split, after all that it needs; exit code 3 where the verdict is no promotion."""
    from flows.cli.tables.compare import print_report
    from flows.runtime.console import say
    from schemas.config.profiles import load_config
    from tasks.evaluate.report.page import REPORT_PAGE

    config = load_config(profile, overrides)
    result = _run(config, profile, until="evaluate", fresh=fresh)
    print_report(result.report)
    say(f"report: {result.stages['evaluate'].path / REPORT_PAGE}")
    if as_json:
        report = {name: result.report[name] for name in ("overall", "tasks", "gate")}
        document = {"seconds": result.seconds, "path": str(result.stages["evaluate"].path), **report}
        typer.echo(json.dumps(document, ensure_ascii=False))
    if result.report["gate"]["verdict"] != "promote":
        raise typer.Exit(3)


def _run(config: "Config", profile: str, *, until: "Until", fresh: bool) -> "Retraining":
    from flows.cli.chain import get_ready
    from flows.runtime.console import say
    from flows.runtime.session import BYTES_NEEDED, session
    from flows.runtime.signals import told_about_fresh

    say(f"{until} with profile {profile}, state in {config.state.root}")
    with told_about_fresh(fresh), session(config, bytes_needed=BYTES_NEEDED, meanwhile=lambda: get_ready(config)):
        from flows.retrain import retrain

        return retrain(config, fresh=fresh, until=until)


def _as_document(policy: "StageResult", config: "Config") -> dict[str, Any]:
    """Sum up a policy; of one made earlier the time is unknown, for an artifact holds no clock times.

    The cost is by the hourly price of the machine that trained it, taken from its record: a Spot price where the
    machine's end is announced.
    """
    from schemas.config.workers import price_per_hour
    from tasks.train.sizing.estimate import cost_usd
    from tasks.train.summaries import read_summary, rewards_by_task

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


def _print_estimate(config: "Config", *, as_json: bool) -> None:
    from flows.cli.tables.estimate import estimate_document, print_estimate
    from flows.cli.tables.train import print_recipe
    from flows.runtime.session import artifacts_folder
    from tasks.lineage.store.artifacts import ArtifactStore
    from tasks.train.sizing.estimate import estimate_training, known_prompts
    from tasks.train.sizing.fit import refuse_unfit

    prompts, source = known_prompts(config, ArtifactStore(artifacts_folder(config)))
    estimate = estimate_training(config, prompts)
    print_recipe(config.train)
    print_estimate(config, estimate, source)
    if as_json:
        document = {
            "recipe": config.train.model_dump(mode="json"),
            "estimate": estimate_document(config, estimate, source),
        }
        typer.echo(json.dumps(document, ensure_ascii=False))
    refuse_unfit(config)
