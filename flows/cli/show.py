"""Command `tucano show`: what the models said to a prompt, or what was sampled at a step of the training."""

from typing import Annotated

import typer

from flows.cli.lineage_store import open_inventory
from flows.cli.options import LOOKED, Json, Overrides, Profile, StateFolder, configured, emit
from flows.cli.tables.show import print_prompt, print_step
from flows.runtime.signals import interruptible
from schemas.errors import InputError
from schemas.tasks import TaskName
from tasks.lineage.graph.completions import FEWEST_CHARACTERS, STEP_DIGITS, newest_run


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
            print_step(int(what), rollouts, worst=worst)
            emit({"step": int(what), "rollouts": [vars(each) for each in rollouts]}, as_json=as_json)
        else:
            history = run.prompt(what)
            print_prompt(history, worst=worst)
            emit(history.document(), as_json=as_json)
