"""Table of the commands, by which `tucano --help` imports none of them."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from flows.cli.options import LOOKED
from flows.runtime.signals import interruptible

COMMANDS: Final[Mapping[str, str]] = {
    "retrain": "Retrain, end to end. Run again, it resumes: finished stages are skipped.",
    "score": "Score rollouts of any model with the rewards.",
    "synthesize": "Make a store, simulated or Olist's, and prompts with references from it.",
    "curate": "Make one dataset of prompts: checked, scrubbed, without copies, split without leakage.",
    "train": "Train, and make before it what is not there yet. Run again, it resumes from its newest checkpoint.",
    "evaluate": "Evaluate on the test split, after all that it needs; exit code 3 where the verdict is no promotion.",
    "compare": "Compare two models' scores, and say whether the second may be promoted; exit code 3 where it is held.",
    "promote": (
        "Promote a version that an earlier run registered; exit code 3 where the gate holds it and nothing is forced."
    ),
    "ask": "Ask the champion, on this machine: one prompt, a file of them, or what you type.",
    "serve": "Serve the champion over HTTP: OpenAI's API, and a path for each task; a new one takes over by itself.",
    "export": "Export a version for other programs, proven by reading it back; exit code 3 where it differs.",
    "monitor": "Score production logs, and say whether the champion keeps its promise; exit code 3 where it does not.",
    "lineage": "Walk from a model, a run, an artifact or a row to all that it came from and led to.",
    "forget": (
        "Take a person out of data, logs and models, and prove it; exit code 3 where something was not reached."
    ),
    "doctor": "Say what a run with this profile needs, and what of it is missing here. Nothing is changed.",
    "ui": "Serve Prefect's and MLflow's pages on loopback, until Ctrl-C.",
    "audit": "Compare the rewards with people's scores, before a GPU-hour is spent on them.",
    "benchmark": (
        "Write a test of the six tasks for any harness, run a model on it, score answers, and keep the scoreboard."
    ),
    "checkpoints": "List, verify, pull, push and prune the checkpoints of a mirror: a folder or gs://bucket/prefix.",
    "infra": "Put work pools, deployments and automations on the Prefect server of PREFECT_API_URL, or compare it.",
}
"""Help of each command, by its name; a test compares it with the command's own."""


class LazyCommands(TyperGroup):
    """Group that imports the module of a command only to run it."""

    def __init__(self, **named: Any) -> None:
        """List the table; the arguments are Typer's."""
        super().__init__(**named)
        self.commands = {name: TyperCommand(name, help=line) for name, line in COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the command that is run, whole."""
        name, command, others = super().resolve_command(ctx, args)
        return name, load(name) if name is not None and name in COMMANDS else command, others


def load(name: str) -> Any:
    """Import a command: a module's `app`, or its function of the command's name."""
    with interruptible(LOOKED):
        module = import_module(f"flows.cli.{name}")
    whole = typer.Typer()
    if hasattr(module, "app"):
        whole.add_typer(module.app)
    else:
        whole.command(name)(getattr(module, name))
    return typer.main.get_group(whole).commands[name]
