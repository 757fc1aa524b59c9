"""Command `tucano ask`: questions to the champion on this machine."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.options import LOOKED, Json, Overrides, Profile, StateFolder, configured, emit
from flows.cli.tables.answers import print_answer, print_summary
from flows.runtime.console import show, stage_progress
from flows.runtime.signals import interruptible
from schemas.disk import write_whole
from schemas.errors import InputError
from schemas.tasks import TaskName
from tasks.commerce.registry import TASKS
from tasks.serve.questions import fields_of, question_of, read_questions

if TYPE_CHECKING:
    from schemas.tables.prompts import PromptRow

MOST_SHOWN = 3
"""Answers that are shown whole; a file of more is summarized."""
LONGEST_STDIN = 1_000_000


def ask(
    task: Annotated[TaskName, typer.Argument(help="The task.")],
    values: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=VALUE]...", help="The task's inputs, or its only one as a text; asked for where missing."
        ),
    ] = None,
    file: Annotated[Path | None, typer.Option(help="JSON Lines of inputs, or of prompts.")] = None,
    prompt: Annotated[
        str | None, typer.Option(metavar="ID", help="A prompt of the version's own dataset, by its id's beginning.")
    ] = None,
    version: Annotated[
        str | None, typer.Option(metavar="N", help="A version by its number; the champion if not given.")
    ] = None,
    base: Annotated[bool, typer.Option("--base", help="Ask the base that the version was trained on.")] = False,
    answer_all: Annotated[bool, typer.Option("--any", help="Ask for a task even if it was not learned.")] = False,
    out: Annotated[Path | None, typer.Option(help="Where the answers go, as JSON Lines; replaced if there.")] = None,
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    as_json: Json = False,
) -> None:
    """Ask the champion, on this machine: one prompt, a file of them, or what you type."""
    given = [name for name, is_given in (("NAME=VALUE", values), ("--file", file), ("--prompt", prompt)) if is_given]
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)} are given, and one says what is asked; leave the others out")
    config = configured(profile, overrides, state)
    with interruptible(LOOKED):
        rows: Sequence[PromptRow] | None = None
        if file is not None:
            rows = read_questions(file, task)
        elif prompt is None:
            rows = [question_of(task, _values(task, values or []))]
        # Torch, transformers and MLflow take seconds to import, and a mistake above none.
        from tasks.policy.fork_server import load_less  # noqa: PLC0415

        load_less()
        from flows.stages.served_model import find_prompt, find_served_model  # noqa: PLC0415

        served, dataset = find_served_model(config, version, base=base, answer_all=answer_all)
        if rows is None:
            row = find_prompt(dataset, prompt or "")
            if row.task != task:
                raise InputError(f"the prompt {row.prompt_id[:12]} is one of {row.task}; ask `tucano ask {row.task}`")
            rows = [row]
        with stage_progress("ask") as progress:
            progress(0, len(rows), "loading the model")
            from tasks.serve.answerer import Answerer  # noqa: PLC0415

            answers = Answerer(served, task).answer(rows, progress)
    documents = [answer.model_dump() for answer in answers]
    if out is not None:
        write_whole(out, "".join(f"{answer.model_dump_json()}\n" for answer in answers))
        show(f"answers: {out}")
    emit({"model": config.promote.model_name, "answered_by": served.name, "answers": documents}, as_json=as_json)
    if as_json:
        return
    for answer in answers[:MOST_SHOWN]:
        print_answer(answer)
    print_summary(config.promote.model_name, served.name, answers)


def _values(task: TaskName, given: Sequence[str]) -> dict[str, str]:
    """Return the task's inputs by name: as given, from a pipe, or typed on the terminal."""
    fields = fields_of(task)
    needed = [name for name, is_needed in fields.items() if is_needed]
    values: dict[str, str] = {}
    for text in given:
        name, separator, value = text.partition("=")
        if separator and name in fields:
            values[name] = value
        elif len(needed) == 1 and len(given) == 1:
            values[needed[0]] = text
        else:
            raise InputError(f"{text[:40]!r} is none of the inputs of {task}: {', '.join(fields)}; write NAME=VALUE")
    if given:
        return values
    if not sys.stdin.isatty():
        if len(needed) > 1:
            raise InputError(f"{task} has the inputs {', '.join(fields)}; give them as NAME=VALUE, or a --file")
        return {needed[0]: sys.stdin.read(LONGEST_STDIN)}
    return {name: text for name, is_needed in fields.items() if (text := _typed(task, name, needed=is_needed))}


def _typed(task: TaskName, name: str, *, needed: bool) -> str:
    field = TASKS[task].inputs.model_fields[name]
    show(f"{field.description}{':' if needed else ' (Enter for none):'}")
    if name != "table":
        return sys.stdin.readline().strip()
    lines: list[str] = []
    while line := sys.stdin.readline().rstrip("\n"):
        lines.append(line)
    return "\n".join(lines)
