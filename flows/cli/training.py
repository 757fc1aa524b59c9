"""Commands `tucano retrain`, `train` and `evaluate`: the chain up to a stage, and what it costs before it starts."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from flows.cli.compare import report_parts
from flows.cli.result import Table, show
from flows.cli.tucano import LOOKED, Fresh, Json, Overrides, Profile, StateFolder, Yes, configured
from flows.doctor.run import require_ready
from flows.runtime.console import say, warn
from flows.runtime.console import show as notice
from flows.runtime.session import BYTES_NEEDED, has_server, open_recorder, prefect_folder, recorded, session
from flows.runtime.signals import interruptible
from schemas.config.config import Config
from schemas.errors import InputError, Interrupted
from schemas.source import source_digest
from tasks.evaluate.completions.page import PAGE_FILE
from tasks.evaluate.report.page import REPORT_PAGE
from tasks.evaluate.stats.variance import MeanVariance, detectable_effect, prompts_needed
from tasks.next_steps.steps import NextStep
from tasks.policy.merge import MERGED_FOLDER
from tasks.report.wording import spoken, worded
from tasks.train.sizing.estimate import CPU_UNKNOWN, DPO_UNKNOWN, Estimate, estimate_training, expected_prompts
from tasks.train.sizing.memory import memory_limit, refuse_unfit
from tasks.train.summaries import read_summary, rewards_by_task

if TYPE_CHECKING:
    from flows.stages.retraining import Retraining, Until
    from flows.stages.runner import StageResult

READ_AHEAD: Final = (
    "tasks.synthesize.stage",
    "tasks.curate.stage",
    "tasks.audit.stage",
    "tasks.train.sft.warm_start",
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
    given = ["--profile", profile, *(word for each in overrides for word in ("--set", each))]
    given += [] if state is None else ["--state", str(state)]
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
    yield Table(f"{result.seconds:.1f} seconds by stage", document["stages"], columns)
    yield from report_parts(result.report)
    decision, number = result.decision, result.decision["version"]
    yield f"{decision['verdict']}: version {number} of {decision['model']}"
    yield f"`{decision['alias']}` is " + (f"version {result.champion}" if result.champion else "no version yet")
    yield from _pages(result)
    if decision["merged"] is not None:
        yield f"model: {result.stages['promote'].path / MERGED_FOLDER}"
    if result.champion == number:
        yield "next: `tucano ask TASK`, `tucano ui`, `tucano monitor LOGS`"
    else:
        said = [f"`{step['command']}`: {step['why']}" for step in document["next"]]
        said = said or [worded("These figures name no step that would help: read the wrong answers.")]
        yield from (f"{worded('next')}: {each}" for each in said if decision["verdict"] == "hold")
        yield f"try it: `tucano ask TASK --version {number}`, `tucano ui`"


def _next_steps(result: "Retraining", given: Sequence[str], root: Path) -> list[dict[str, str]]:
    """Return the evaluation's next steps: each command whole, and a longer training with its minutes where known."""
    made = [policy for policy in result.policies.values() if not policy.reused]
    # SFT alone has no step of GRPO.
    a_step = sum(policy.seconds / steps for policy in made if (steps := read_summary(policy.path)["steps"]))
    return [NextStep(**each).whole(given, root, result.decision["version"], a_step) for each in result.report["next"]]


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
    document = {"seconds": result.seconds, "path": str(result.stages["evaluate"].path)}
    document |= {name: result.report[name] for name in ("overall", "tasks", "gate")}
    with spoken(config.language):
        parts = [*report_parts(result.report), *_pages(result)]
    show(document, parts, as_json=as_json)
    if result.report["gate"]["verdict"] != "promote":
        raise typer.Exit(3)


def _pages(result: "Retraining") -> Iterator[str]:
    yield f"report: {result.stages['evaluate'].path / REPORT_PAGE}"
    yield f"completions: {result.stages['evaluate'].path / PAGE_FILE}"


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


def run_chain(config: Config, profile: str, *, until: "Until", fresh: bool, yes: bool) -> "Retraining":
    """Run the chain up to a stage: at once where nothing is to do, else with Prefect, whose server starts meanwhile."""
    what = "retraining" if until == "promote" else until
    say(f"{what} with profile {profile}, seed {config.seed}, state in {config.state.root}")
    refuse_unfit(config)
    known_before = not fresh and any((prefect_folder(config.state.root) / "storage").glob("*"))
    if not known_before:
        # Before the state folder is made.
        _require_ready(config, profile, yes=yes)
    with session(config, bytes_needed=BYTES_NEEDED):
        if known_before:
            if not has_server() and config.workers.training is None:
                # Prefect reads the session's settings when it is imported.
                from flows.retrain import unchanged  # noqa: PLC0415

                known = unchanged(config, until)
                if known is not None:
                    return known
            _require_ready(config, profile, yes=yes)
        with recorded(config, meanwhile=lambda: warm_up(config)):
            from prefect import tags  # noqa: PLC0415

            from flows.retrain import retrain as flow  # noqa: PLC0415
            from flows.runtime.runs import SEED, profile_tag  # noqa: PLC0415

            with tags(profile_tag(profile), f"{SEED}:{config.seed}"):
                return flow(config, fresh=fresh, until=until)


def _require_ready(config: Config, profile: str, *, yes: bool) -> None:
    """Refuse what cannot come to its end here, and what is not worth its price to the person who asked for it."""
    with interruptible(LOOKED):
        require_ready(config, profile)
        confirm_costs(config, yes=yes)


def warm_up(config: Config) -> None:
    """Import the chain, read the code of its keys, and open MLflow's store: twelve seconds on two cores."""
    # Prefect reads the session's settings when it is imported.
    import flows.retrain  # noqa: F401, PLC0415
    from flows.stages.train import entry_modules  # noqa: PLC0415

    # Each module is read once per process: with these, nearly all that the stages' keys need.
    source_digest(*READ_AHEAD, *entry_modules(config))
    open_recorder(config)


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
    unknown = None if seconds is not None else CPU_UNKNOWN if config.train.algorithm == "grpo" else DPO_UNKNOWN
    if estimate.shape is None:
        unknown = "nothing here says how large the model is until it was fetched once"
    people_score = config.audit.require_human and config.audit.sheet is None
    return {
        "hours": None if seconds is None else seconds / 3600,
        "unknown": unknown,
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


def cost_lines(costs: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each thing that a retraining costs, and one for what its test split can decide."""
    rate = costs["reais_per_dollar"]
    by_rate = "" if rate is None else f", at {rate:g} reais a dollar"

    def money(dollars: float) -> str:
        return f"${dollars:.2f}" if rate is None else f"${dollars:.2f} (R$ {dollars * rate:.2f})"

    if scores := costs["scores"]:
        yield f"people first: {scores} completions to score, {scores / 60:.1f} h at a minute each, before any training"
    if costs["hours"] is None or costs["dollars"] is None or costs["spot_dollars"] is None:
        yield f"costs: unknown, for {costs['unknown']}"
    elif not costs["dollars"]:
        yield f"costs at most: {costs['hours']:.1f} h of a machine whose hour has no price"
    else:
        yield (
            f"costs at most: {costs['hours']:.1f} h, {money(costs['dollars'])} on demand, "
            f"{money(costs['spot_dollars'])} on Spot machines{by_rate}; "
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
    if not (config.train.price_per_hour or config.workers.prices):
        return
    for line in cost_lines(costs_of(config, estimate_training(config, expected_prompts(config)))):
        notice(line)
    if yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    try:
        spends = typer.confirm("Spend it?", err=True)
    except typer.Abort:  # Ctrl-C at the question, which Click takes for itself.
        raise Interrupted(LOOKED) from None
    if not spends:
        raise InputError("nothing was started; lower train.max_steps or train.seeds, or answer yes next time")
