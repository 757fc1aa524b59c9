"""`tucano train` and `tucano evaluate`: one stage by profile, after what it needs; and what a training would take."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from flows.options import Overrides, Profile

if TYPE_CHECKING:
    from flows.retrain import Retraining
    from flows.stage import StageResult
    from schemas.config import Config
    from schemas.tasks import TaskName

Fresh = Annotated[bool, typer.Option("--fresh", help="Make every stage again, and train from the start.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON document on stdout.")]
EXPECTED = "counts less the held-out share"


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
    trainings = [_training(policy, config.train.price_per_hour) for policy in result.policies.values()]
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
    from flows.console import print_evaluation, say
    from schemas.profiles import load_config

    config = load_config(profile, overrides)
    result = _run(config, profile, until="evaluate", fresh=fresh)
    gate = result.report["gate"]
    print_evaluation(result.report)
    say(f"{gate['verdict']}: {'; '.join(gate['reasons'])}")
    say(f"report: {result.stages['evaluate'].path / 'report.html'}")
    if as_json:
        report = {name: result.report[name] for name in ("overall", "tasks", "gate")}
        document = {"seconds": result.seconds, "path": str(result.stages["evaluate"].path), **report}
        typer.echo(json.dumps(document, ensure_ascii=False))
    if gate["verdict"] != "promote":
        raise typer.Exit(3)


def _run(config: "Config", profile: str, *, until: Literal["train", "evaluate"], fresh: bool) -> "Retraining":
    from flows.console import say
    from flows.session import BYTES_NEEDED, session

    say(f"{until} with profile {profile}, state in {config.state.root}")
    with session(config, bytes_needed=BYTES_NEEDED):
        from flows.retrain import retrain

        return retrain(config, fresh=fresh, until=until)


def _training(policy: "StageResult", price_per_hour: float) -> dict[str, Any]:
    """Sum up a policy; what was made earlier has no time here, for an artifact says nothing of the clock."""
    from tasks.train.summaries import read_summary

    summary = read_summary(policy.path)
    by_step = {validation["step"]: validation["by_task"] for validation in summary["validation"]}
    # Where each task was trained alone, each has a step of its own.
    steps = summary.get("chosen_steps") or dict.fromkeys(by_step[0], summary["chosen_step"])
    return {
        "seed": summary["seed"],
        "steps": summary["steps"],
        "stopped_early": summary["stopped_early"],
        "tasks": {
            task: {"chosen_step": step, "before": by_step[0][task], "chosen": by_step[step][task]}
            for task, step in steps.items()
        },
        "seconds": None if policy.reused else policy.seconds,
        "cost": None if policy.reused else policy.seconds / 3600 * price_per_hour,
        "sha256": policy.record.sha256,
        "path": str(policy.path),
        "reused": policy.reused,
    }


def _tell(config: "Config", *, as_json: bool) -> None:
    from flows.print_train import estimate_document, print_estimate, print_recipe
    from tasks.train.estimate import estimate_training, expected_prompts

    known = _prompts_of_newest_dataset(config)
    prompts, source = known or (expected_prompts(config), EXPECTED)
    estimate = estimate_training(config, prompts)
    print_recipe(config.train)
    print_estimate(config, estimate, source)
    if as_json:
        document = {
            "recipe": config.train.model_dump(mode="json"),
            "estimate": estimate_document(config, estimate, source),
        }
        typer.echo(json.dumps(document, ensure_ascii=False))


def _prompts_of_newest_dataset(config: "Config") -> "tuple[Mapping[TaskName, int], str] | None":
    """Return the training prompts of the newest dataset that was asked for in these numbers, and what it is."""
    from flows.session import artifacts_folder
    from tasks.lineage.artifacts import ArtifactDamaged, ArtifactStore

    store = ArtifactStore(artifacts_folder(config))
    asked = {task: count for task, count in config.synthesize.counts.items() if count}
    for dataset in store.records("dataset"):
        try:
            made = json.loads((store.path(dataset.inputs["prompts"]) / "summary.json").read_text(encoding="utf-8"))
            kept = json.loads((store.path(dataset.sha256) / "summary.json").read_text(encoding="utf-8"))
        except (OSError, ValueError, ArtifactDamaged):
            # A run would find out, and make it again.
            continue
        same_source = made["source"] == config.synthesize.source
        same_split = kept["held_out_share"] == config.curate.held_out_share
        if same_source and same_split and {task: count for task, count in made["asked"].items() if count} == asked:
            prompts = {task: splits["train"] for task, splits in kept["tasks"].items() if splits["train"]}
            return prompts, f"dataset {dataset.sha256[:12]} of {dataset.created_at:%Y-%m-%d %H:%M}"
    return None
