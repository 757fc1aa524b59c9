"""Command `tucano show`: what the models said to a prompt, or what was sampled at a step of the training."""

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Annotated, Any, Final

import typer

from flows.cli.lineage import open_inventory
from flows.cli.result import Table, cell
from flows.cli.result import show as show_result
from flows.cli.tucano import LOOKED, Json, Overrides, Profile, StateFolder, configured
from flows.runtime.signals import interruptible
from schemas.errors import InputError
from schemas.shown_text import as_shown
from schemas.tasks import TaskName
from tasks.lineage.graph.completions import FEWEST_CHARACTERS, STEP_DIGITS, newest_run

Rollout = dict[str, Any]
LISTED: Final = 3
"""Best and worst rollouts that are printed; of the worst alone, three times as many."""
LONGEST_TEXT: Final = 200
SUMMARY: Final = "distinct trained_on mean_reward worst best"
EXTREMES: Final = "reward times advantage"


def show(
    what: Annotated[
        str,
        typer.Argument(
            metavar="PROMPT|STEP",
            help="A prompt's id or its first characters, or the number of a step of the newest training.",
        ),
    ],
    task: Annotated[TaskName | None, typer.Option(help="Only rollouts of this task.")] = None,
    worst: Annotated[bool, typer.Option("--worst", help="Only the rollouts of the lowest reward.")] = False,
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    as_json: Json = False,
) -> None:
    """Show a prompt's answers and rollouts, or a step's rollouts, of the newest training."""
    is_step = what.isdecimal() and len(what) <= STEP_DIGITS
    if not is_step and len(what) < FEWEST_CHARACTERS:
        raise InputError(f"{what!r} is no step, and too short for a prompt's id; give {FEWEST_CHARACTERS} characters")
    if not is_step and task is not None:
        raise InputError("--task goes with a step; a prompt is of one task")
    config = configured(profile, overrides, state)
    with interruptible(LOOKED):
        from tasks.personal_data.scrub import scrub  # noqa: PLC0415 - half a second, which a refusal need not wait for

        run = newest_run(open_inventory(config), scrub)
        if is_step:
            rollouts = run.step(int(what), task)
            document = {"step": int(what), "rollouts": rollouts}
            show_result(document, _step_parts(what, rollouts, worst=worst), as_json=as_json)
        else:
            document = run.prompt(what)
            show_result(document, _prompt_parts(document, worst=worst), as_json=as_json)


def _step_parts(step: str, rollouts: Sequence[Rollout], *, worst: bool) -> Iterator[str | Table]:
    tasks = {
        name: [each for each in rollouts if each["task"] == name] for name in {each["task"]: 0 for each in rollouts}
    }
    summary = {name: _summary(of_task) for name, of_task in tasks.items()}
    yield Table(f"Step {step}: {len(rollouts)} rollouts", summary, f"task=name rollouts prompts {SUMMARY}")
    yield from _extremes(rollouts, f"{EXTREMES} step task prompt_id text", worst=worst)
    yield "next: `tucano show PROMPT` with an id of these, or open the completions of the evaluation's report"


def _prompt_parts(history: Mapping[str, Any], *, worst: bool) -> Iterator[str | Table]:
    """Yield a prompt, its reference, each model's answer, equal ones once, and its rollouts over time."""
    yield f"{history['task']} prompt {history['prompt_id']}, of the {history['split']} split\n"
    yield textwrap.indent(as_shown(history["prompt"]), "  ", lambda _: True)
    if history["reference"] is not None:
        yield f"reference: {as_shown(cell(history['reference']))}"
    answers: dict[str, dict[str, Any]] = {}
    for answer in () if worst else history["answers"]:
        row = answers.setdefault(answer["completion"], {"models": Counter(), "reward": None, **answer})
        row["models"][answer["model"]] += 1
        if row["reward"] is None:
            row |= {"reward": answer["reward"], "truth": answer["truth"]}
    for row in answers.values():
        row["models"] = [f"{model} ×{count}" if count > 1 else model for model, count in row["models"].items()]
    if answers:
        yield Table("Answers", list(answers.values()), "models reward truth completion")
    if rollouts := history["rollouts"]:
        keys = sorted({(each["seed"], each["step"]) for each in rollouts})
        groups = [[each for each in rollouts if (each["seed"], each["step"]) == key] for key in keys]
        rows = [{**of_step[0], **_summary(of_step)} for of_step in groups]
        yield Table("Rollouts over time", rows, f"step seed rollouts {SUMMARY} components")
        yield from _extremes(rollouts, f"{EXTREMES} step text", worst=worst)
    elif not history["answers"]:
        yield "no model answered it, and no rollouts of it were sampled"


def _summary(rollouts: Sequence[Rollout]) -> Rollout:
    rewards = [each["reward"] for each in rollouts]
    return {
        "rollouts": len(rollouts),
        "prompts": len({each["prompt_id"] for each in rollouts}),
        "distinct": len({each["completion"] for each in rollouts}),
        "trained_on": sum(each["advantage"] is not None for each in rollouts),
        "mean_reward": fmean(rewards),
        "worst": min(rewards),
        "best": max(rewards),
        "components": {
            name: fmean(each["components"].get(name, 0.0) for each in rollouts) for name in rollouts[0]["components"]
        },
    }


def _extremes(rollouts: Sequence[Rollout], columns: str, *, worst: bool) -> Iterator[Table]:
    """Yield the worst and the best of distinct rollouts, equal ones once."""
    rows: dict[tuple[Any, ...], Rollout] = {}
    for each in sorted(rollouts, key=lambda each: each["reward"]):
        key = (each["prompt_id"], each["step"], each["completion"], each["reward"])
        marks = [" (cut off at the token limit)"] * (each["stop_reason"] == "token_limit")
        marks += [" (the reference's answer)"] * each["corrected"]
        text = as_shown(" ".join(each["completion"].split()))[:LONGEST_TEXT] + "".join(marks)
        row = rows.setdefault(key, {**each, "prompt_id": each["prompt_id"][:8], "times": 0, "text": text})
        row["times"] += 1
    distinct = list(rows.values())
    if worst:
        yield Table("Worst", distinct[: 3 * LISTED], columns)
    elif len(distinct) <= 2 * LISTED:
        yield Table("All, worst first", distinct, columns)
    else:
        yield Table("Worst", distinct[:LISTED], columns)
        yield Table("Best", distinct[::-1][:LISTED], columns)
