"""Commands `tucano retrain`, `plan`, `train` and `evaluate`: the chain up to a stage, and what it costs."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from flows.cli.compare import report_parts
from flows.cli.result import Table, show
from flows.cli.tucano import LOOKED, Fresh, Json, Overrides, Profile, StateFolder, Yes, chosen_language, configured
from flows.doctor.run import require_ready
from flows.plan.prices import asking, confirm_costs, cost_lines, costs_of, has_plan
from flows.runtime.console import say, warn
from flows.runtime.session import BYTES_NEEDED, has_server, open_recorder, prefect_folder, recorded, session
from flows.runtime.signals import interruptible
from schemas.config.config import Config
from schemas.source import source_digest
from tasks.evaluate.completions.page import PAGE_FILE
from tasks.evaluate.report.page import REPORT_PAGE
from tasks.next_steps.steps import NextStep
from tasks.policy.merge import MERGED_FOLDER
from tasks.report.number_format import decimal
from tasks.report.wording import spoken, worded
from tasks.train.sizing.estimate import Estimate, estimate_training, expected_prompts
from tasks.train.sizing.memory import memory_limit, refuse_unfit
from tasks.train.summaries import read_summary, rewards_by_task

if TYPE_CHECKING:
    from flows.stages.adoption import Adopted
    from flows.stages.retraining import Retraining, Until
    from flows.stages.runner import StageResult

READ_AHEAD: Final = (
    "tasks.synthesize.stage",
    "tasks.curate.stage",
    "tasks.audit.stage",
    "tasks.train.sft.warm_start",
    "tasks.plan.draws",
    "flows.stages.evaluate",
    "flows.stages.promote",
)


def retrain(
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    fresh: Fresh = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Retrain, end to end. Run again, it resumes: finished stages are skipped."""
    config = configured(profile, overrides, state)
    result = run_chain(config, profile, until="promote", fresh=fresh, yes=yes)
    show_retraining(result, config, given_options(profile, overrides, state), as_json=as_json)


def show_retraining(result: "Retraining", config: Config, given: Sequence[str], *, as_json: bool) -> None:
    """Print a retraining that the given options made; exit code 3 where it ended without a promotion."""
    stages = {
        name: {"sha256": stage.record.sha256, "path": str(stage.path), "seconds": stage.seconds, "reused": stage.reused}
        for name, stage in result.stages.items()
    }
    document = {
        "seconds": result.seconds,
        "stages": stages,
        "decision": result.decision,
        "evaluation": {name: result.report[name] for name in ("overall", "tasks", "gate")},
    }
    with spoken(config.language):
        document["next"] = _next_steps(result, given, config.state.root)
        parts = [*retraining_parts(result, document)]
    show(document, parts, as_json=as_json)
    if result.decision["verdict"] != "promote":
        raise typer.Exit(3)


def retraining_parts(result: "Retraining", document: Mapping[str, Any]) -> Iterator[str | Table]:
    """Yield where the time went, what the evaluation found, and what was decided."""
    columns = "stage=name time=seconds artifact=sha256 reused"
    title = worded("{seconds} seconds by stage", seconds=decimal(result.seconds, 1))
    yield Table(title, document["stages"], columns)
    yield from report_parts(result.report)
    decision, number = result.decision, result.decision["version"]
    yield worded("{verdict}: version {version} of {model}", **{**decision, "verdict": worded(decision["verdict"])})
    there = worded("version {number}", number=result.champion) if result.champion else worded("no version yet")
    yield worded("`{alias}` is {version}", alias=decision["alias"], version=there)
    yield from _pages(result)
    if decision["merged"] is not None:
        yield f"{worded('model')}: {result.stages['promote'].path / MERGED_FOLDER}"
    if result.champion == number:
        yield f"{worded('next')}: `tucano ask TASK`, `tucano ui`, `tucano monitor LOGS`"
    else:
        yield from _next_lines(decision["verdict"], document["next"])
        yield f"{worded('try it')}: `tucano ask TASK --version {number}`, `tucano ui`"


def _next_lines(verdict: str, steps: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Yield what would help after a hold."""
    said = [f"`{step['command']}`: {step['why']}" for step in steps]
    said = said or [worded("These figures name no step that would help: read the wrong answers.")]
    yield from (f"{worded('next')}: {each}" for each in said if verdict == "hold")


def given_options(profile: str, overrides: Sequence[str], state: Path | None) -> list[str]:
    """Return the options by which a command has the same configuration."""
    given = ["--profile", profile, *(word for each in overrides for word in ("--set", each))]
    given += [] if state is None else ["--state", str(state)]
    return given + ([] if chosen_language() is None else ["--language", str(chosen_language())])


def _next_steps(result: "Retraining", given: Sequence[str], root: Path) -> list[dict[str, str]]:
    """Return the evaluation's next steps: each command whole, and a longer training with its minutes where known."""
    made = [policy for policy in result.policies.values() if not policy.reused]
    # SFT alone has no step of GRPO.
    a_step = sum(policy.seconds / steps for policy in made if (steps := read_summary(policy.path)["steps"]))
    # `tucano retrain` registers what is only evaluated.
    version = result.decision.get("version", "VERSION")
    return [NextStep(**each).whole(given, root, version, a_step) for each in result.report["next"]]


def evaluate(
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    fresh: Fresh = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Evaluate on the test split, after all that it needs; exit code 3 where the verdict is no promotion."""
    config = configured(profile, overrides, state)
    result = run_chain(config, profile, until="evaluate", fresh=fresh, yes=yes)
    document: dict[str, Any] = {"seconds": result.seconds, "path": str(result.stages["evaluate"].path)}
    document |= {name: result.report[name] for name in ("overall", "tasks", "gate")}
    with spoken(config.language):
        document["next"] = _next_steps(result, given_options(profile, overrides, state), config.state.root)
        steps = _next_lines(result.report["gate"]["verdict"], document["next"])
        parts = [*report_parts(result.report), *_pages(result), *steps]
    show(document, parts, as_json=as_json)
    if result.report["gate"]["verdict"] != "promote":
        raise typer.Exit(3)


def _pages(result: "Retraining") -> Iterator[str]:
    yield f"{worded('report')}: {result.stages['evaluate'].path / REPORT_PAGE}"
    yield f"{worded('completions')}: {result.stages['evaluate'].path / PAGE_FILE}"


def train(
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    fresh: Fresh = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what it takes and whether it fits.")] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Train, and make before it what is not there yet. Run again, it resumes from its newest checkpoint."""
    config = configured(profile, overrides, state)
    if dry_run:
        _show_estimate(config, as_json=as_json)
        return
    result = run_chain(config, profile, until="train", fresh=fresh, yes=yes)
    trainings = [_as_document(policy, config) for policy in result.policies.values()]
    by_task = [(each["seed"], task, found) for each in trainings for task, found in each["tasks"].items()]
    rewards = [{"seed": seed, "task": task, **found} for seed, task, found in by_task]
    title = "Validation reward, before training and at the chosen step"
    tables = [
        Table("Trainings", trainings, "seed steps stopped_early reused time=seconds US_dollars=cost_usd policy=sha256"),
        Table(title, rewards, "seed task before chosen chosen_step"),
    ]
    show({"seconds": result.seconds, "trainings": trainings}, tables, as_json=as_json)


def _as_document(policy: "StageResult", config: Config) -> dict[str, Any]:
    """Sum up a policy; of one made earlier the time is unknown, for an artifact holds no clock times."""
    from flows.stages.retraining import cost_of  # noqa: PLC0415 - Prefect, which the run has imported

    summary, worker = read_summary(policy.path), policy.record.worker
    return {
        **{name: summary[name] for name in ("seed", "steps", "stopped_early")},
        "tasks": rewards_by_task(summary),
        "seconds": None if policy.reused else policy.seconds,
        "cost_usd": None if policy.reused else cost_of(config, policy),
        "machine": worker.model_dump(include={"machine", "device"}) if worker else None,
        "sha256": policy.record.sha256,
        "path": str(policy.path),
        "reused": policy.reused,
    }


def plan(
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    fresh: Fresh = False,
    as_json: Json = False,
) -> None:
    """Make all that is cheap, and print whether more training is worth its price; no GRPO is run."""
    config = configured(profile, overrides, state)
    if (found := run_chain(config, profile, until="plan", fresh=fresh, yes=True).plan) is None:
        raise AssertionError("a run up to the plan ended without one")
    show(found.as_json(), found.table(), as_json=as_json)


def _show_estimate(config: Config, *, as_json: bool) -> None:
    estimate = estimate_training(config, expected_prompts(config))
    costs = costs_of(config, estimate)
    figures = _estimate_document(config, estimate)
    document = {"recipe": config.train.model_dump(mode="json"), "estimate": figures, "costs": costs}
    parts = [*cost_lines(costs), *_estimate_parts(config, estimate, figures)]
    if estimate.too_many_epochs:
        warn(
            f"{estimate.epochs:.2f} epochs: on small data the V4.2 report's model was at its best after 1 to "
            "1.5, and its entropy collapsed afterwards; lower train.max_steps or make more prompts"
        )
    show(document, parts, as_json=as_json)
    refuse_unfit(config)


def _estimate_parts(config: Config, estimate: Estimate, figures: Mapping[str, Any]) -> Iterator[str | Table]:
    """Yield whether it fits, what one training does, and time and money of each stage."""
    if estimate.stage_memory == {}:
        yield "memory: not estimated, for a CPU trains it"
    elif estimate.stage_memory is None:
        yield f"memory: unknown, for nothing here says how large {config.policy.name} is until it was fetched once"
    else:
        largest = f"memory: {max(estimate.stage_memory.values()) / 1e9:.1f} GB at most"
        fit = f"of {memory_limit(config) / 1e9:.1f} GB there are: {'all fit' if estimate.fits else 'not all fit'}"
        yield f"{largest}, {fit if config.train.device_memory_gb else 'train.device_memory_gb is not set'}"
    yield (
        f"one training: {config.train.max_steps:,} steps, {estimate.epochs:.2f} epochs of "
        f"{sum(estimate.prompts.values()):,} prompts, {estimate.completions:,} completions, learning rate "
        f"{estimate.learning_rate:.2g}"
    )
    if figures["stages"] is not None:
        columns = "stage=name on=machine time=seconds $=cost_usd $_Spot=spot_usd"
        whole = {"name": "in all", **{name: figures[name] for name in ("seconds", "cost_usd", "spot_usd")}}
        yield Table("The whole retraining, answers as long as allowed", [*figures["stages"], whole], columns)
    yield "the whole recipe and all figures: --json"


def _estimate_document(config: Config, estimate: Estimate) -> dict[str, Any]:
    """Return an estimate as a JSON document: seconds, US dollars and bytes; unknown values are null."""
    return {
        **{name: value for name, value in vars(estimate).items() if name not in ("shape", "stage_memory")},
        "prompts_from": "counts less the held-out share",
        "steps": config.train.max_steps,
        "too_many_epochs": estimate.too_many_epochs,
        "parameters": None if estimate.shape is None else estimate.shape.parameters,
        "stages": None if estimate.stages is None else [vars(stage) for stage in estimate.stages],
        **{name: estimate.total(name) for name in ("seconds", "cost_usd", "spot_usd")},
        "memory_by_stage": estimate.stage_memory,
        "memory_limit": memory_limit(config) or None,
    }


def run_chain(
    config: Config, profile: str, *, until: "Until", fresh: bool, yes: bool | None, adopted: "Adopted" = None
) -> "Retraining":
    """Run the chain up to a stage: at once where nothing is to do, else with Prefect, whose server starts meanwhile."""
    what = "retraining" if until == "promote" else until
    say(f"{what} with profile {profile}, seed {config.seed}, state in {config.state.root}")
    refuse_unfit(config)
    known_before = not fresh and any((prefect_folder(config.state.root) / "storage").glob("*"))
    planned = adopted is None and has_plan(config, until)
    if not known_before:
        # Before the state folder is made.
        _require_ready(config, profile, yes=yes, planned=planned)
    with session(config, bytes_needed=BYTES_NEEDED):
        if known_before:
            if not has_server() and config.workers.training is None:
                # Prefect reads the session's settings when it is imported.
                from flows.retrain import unchanged  # noqa: PLC0415

                if (known := unchanged(config, until, adopted)) is not None:
                    return known
            _require_ready(config, profile, yes=yes, planned=planned)
        with recorded(config, meanwhile=lambda: warm_up(config)):
            from prefect import tags  # noqa: PLC0415

            from flows.retrain import retrain as flow  # noqa: PLC0415
            from flows.runtime.runs import SEED, profile_tag  # noqa: PLC0415

            with tags(profile_tag(profile), f"{SEED}:{config.seed}"), asking(not yes):
                return flow(config, fresh=fresh, until=until, adopted=adopted)


def _require_ready(config: Config, profile: str, *, yes: bool | None, planned: bool) -> None:
    """Refuse what cannot come to its end here, and what is not worth its price to the person who asked for it."""
    with interruptible(LOOKED):
        require_ready(config, profile)
        if yes is not None:
            confirm_costs(config, yes=yes or planned)


def warm_up(config: Config) -> None:
    """Import the chain, read the code of its keys, and open MLflow's store: twelve seconds on two cores."""
    # Prefect reads the session's settings when it is imported.
    import flows.retrain  # noqa: F401, PLC0415
    from flows.stages.train import entry_modules  # noqa: PLC0415

    # Each module is read once per process: with these, nearly all that the stages' keys need.
    source_digest(*READ_AHEAD, *entry_modules(config))
    open_recorder(config)
