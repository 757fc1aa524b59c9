"""`tucano train` and `tucano evaluate`: one stage by profile, after what it needs; and what a training would take."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.options import Fresh, Json, Overrides, Profile

if TYPE_CHECKING:
    from flows.retrain import Retraining, Until
    from flows.stage import StageResult
    from schemas.config import Config


def train(
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    fresh: Fresh = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print the whole recipe, and what it would take; nothing is written.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Train, and make before it what is not there yet. Run again, it resumes from its newest checkpoint."""
    from schemas.profiles import load_config

    config = load_config(profile, overrides)
    if dry_run:
        _tell(config, as_json=as_json)
        return
    from flows.print_train import print_trainings

    result = _run(config, profile, until="train", fresh=fresh)
    trainings = [_as_document(policy, config.train.price_per_hour) for policy in result.policies.values()]
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
    from flows.console import say
    from flows.print_compare import print_report
    from schemas.profiles import load_config
    from tasks.evaluate.report import REPORT_PAGE

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
    from flows.console import say
    from flows.get_ready import get_ready
    from flows.interruption import told_about_fresh
    from flows.session import BYTES_NEEDED, session

    say(f"{until} with profile {profile}, state in {config.state.root}")
    with told_about_fresh(fresh), session(config, bytes_needed=BYTES_NEEDED, meanwhile=lambda: get_ready(config)):
        from flows.retrain import retrain

        return retrain(config, fresh=fresh, until=until)


def _as_document(policy: "StageResult", price_per_hour: float) -> dict[str, Any]:
    """Sum up a policy; what was made earlier has no time here, for an artifact says nothing of the clock."""
    from tasks.train.estimate import cost_usd
    from tasks.train.summaries import read_summary, rewards_by_task

    summary = read_summary(policy.path)
    return {
        **{name: summary[name] for name in ("seed", "steps", "stopped_early")},
        "tasks": rewards_by_task(summary),
        "seconds": None if policy.reused else policy.seconds,
        "cost_usd": None if policy.reused else cost_usd(policy.seconds, price_per_hour),
        "sha256": policy.record.sha256,
        "path": str(policy.path),
        "reused": policy.reused,
    }


def _tell(config: "Config", *, as_json: bool) -> None:
    from flows.print_train import estimate_document, print_estimate, print_recipe
    from flows.session import artifacts_folder
    from tasks.lineage.artifacts import ArtifactStore
    from tasks.train.estimate import estimate_training, known_prompts

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
