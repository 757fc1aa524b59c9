"""Table of the commands, by which `tucano --help` imports none of them."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from flows.cli.options import LOOKED, Quiet
from flows.runtime.signals import interruptible

COMMANDS: Final[Mapping[str, str]] = {
    "retrain": "Retrain, end to end. Run again, it resumes: finished stages are skipped.",
    "score": "Score rollouts of any model with the rewards.",
    "synthesize": "Make a store, simulated, Olist's or of your own files, and prompts with references from it.",
    "init": "Look at your own files, and write the column map and the profile that train on them.",
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
    "monitor": (
        "Score production logs, and say whether the champion answers as at its evaluation; exit code 3 for any alarm."
    ),
    "lineage": "Walk from a model, a run, an artifact or a row to all that it came from and led to.",
    "show": "Show a prompt's answers and rollouts, or a step's rollouts, of the newest training.",
    "forget": (
        "Take a person out of data, logs and models, and prove it; exit code 3 where something was not reached."
    ),
    "doctor": "Say what a run with this profile needs, and what of it is missing here. Nothing is changed.",
    "ui": "Serve Prefect's and MLflow's pages on loopback, until Ctrl-C.",
    "audit": "Check, before training, that the rewards rank answers as human raters do.",
    "phrases": "Let a model propose openers of pushes, and add those that a person approves to the shop's own.",
    "benchmark": (
        "Write a test of the six tasks for any harness, run a model on it, score answers, and keep the scoreboard."
    ),
    "checkpoints": "List, verify, pull, push and prune the checkpoints of a mirror: a folder or gs://bucket/prefix.",
    "infra": "Put work pools, deployments and automations on the Prefect server of PREFECT_API_URL, or compare it.",
}
"""Help of each command, by its name; a test compares it with the command's own."""


ROOT: Final = "tucano"
MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "champion": ("ask", "export", "promote", "monitor"),
    "data": ("synthesize", "curate"),
    "lineage": ("lineage", "show"),
    "training": ("retrain", "train", "evaluate"),
}
"""Modules of more than one command; each other command is the module of its name."""
HELP_OPTIONS: Final = ["-h", "--help"]
EXAMPLES: Final[Mapping[str, str]] = {
    ROOT: "tucano retrain --profile local",
    "retrain": "tucano retrain --profile local --set train.max_steps=20",
    "score": "tucano score ROLLOUTS.jsonl --metrics --out SCORED.jsonl",
    "synthesize": "tucano synthesize --count 5000 --seed 42 --out PROMPTS",
    "init": "tucano init exports/ --out shop",
    "curate": "tucano curate PROMPTS --out DATASET",
    "train": "tucano train --profile l4 --dry-run",
    "evaluate": "tucano evaluate --profile local",
    "compare": "tucano compare BASE.scores.jsonl TUNED.scores.jsonl --report REPORT",
    "promote": 'tucano promote 3 --force "the shop needs it today"',
    "ask": 'tucano ask push product="mala" offer="10% de desconto" segment="novos"',
    "serve": "tucano serve --port 8081",
    "export": "tucano export champion --format gguf --out EXPORT",
    "monitor": "tucano monitor LOGS --report REPORT",
    "lineage": "tucano lineage champion --long",
    "show": "tucano show 20 --task push --worst",
    "forget": "tucano forget CUSTOMER --dry-run",
    "doctor": "tucano doctor --profile l4 --all",
    "ui": "tucano ui --state .tucano",
    "audit": "tucano audit label SHEET.csv --rater ana-1",
    "audit sheet": "tucano audit sheet ROLLOUTS.jsonl --out SHEET.csv",
    "audit check": "tucano audit check SHEET.csv --rollouts ROLLOUTS.jsonl --report REPORT",
    "audit label": "tucano audit label SHEET.csv --rater ana-1",
    "audit references": "tucano audit references --rater ana-1 --out references.jsonl",
    "audit attack": "tucano audit attack --task push",
    "audit record": "tucano audit record --task push",
    "phrases": "tucano phrases propose cozinha --output SHEET.csv",
    "phrases propose": "tucano phrases propose cozinha --output SHEET.csv",
    "phrases add": "tucano phrases add SHEET.csv --set rewards.phrases=frases.toml",
    "benchmark": "tucano benchmark write --out TEST",
    "benchmark write": "tucano benchmark write --out TEST",
    "benchmark run": "tucano benchmark run TEST --model .tucano/export --out ANSWERS.jsonl",
    "benchmark score": "tucano benchmark score TEST ANSWERS.jsonl --entry ENTRY.json --name ours",
    "benchmark scoreboard": "tucano benchmark scoreboard --out SCOREBOARD.md",
    "benchmark wheel": "tucano benchmark wheel --out WHEEL",
    "checkpoints": "tucano checkpoints list",
    "checkpoints list": "tucano checkpoints list --profile local",
    "checkpoints verify": "tucano checkpoints verify gs://bucket/prefix",
    "checkpoints pull": "tucano checkpoints pull --pin best --out CHECKPOINT",
    "checkpoints push": "tucano checkpoints push CHECKPOINT gs://bucket/prefix",
    "checkpoints prune": "tucano checkpoints prune gs://bucket/prefix --keep 3",
    "infra": "tucano infra check --profile l4",
    "infra apply": "tucano infra apply --profile l4",
    "infra check": "tucano infra check --profile l4",
}
"""An example of each command, by how it is called; the help shows it."""


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
    of = next((module for module, names in MODULES.items() if name in names), name)
    with interruptible(LOOKED):
        module = import_module(f"flows.cli.{of}")
    whole = typer.Typer()
    if hasattr(module, "app"):
        whole.add_typer(module.app)
    else:
        whole.command(name)(getattr(module, "show_answers" if name == "show" else name))
    return polish(typer.main.get_group(whole).commands[name], name)


def group(name: str) -> typer.Typer:
    """Return an empty group of commands with the help of the table."""
    return typer.Typer(name=name, help=COMMANDS[name], no_args_is_help=True, pretty_exceptions_enable=False)


def polish(command: Any, path: str) -> Any:
    """Give a command and those in it --quiet and their example; its help leaves out that a flag is a truth value.

    Args:
        command: Typer's command.
        path: How it is called, such as `audit label`.
    """
    if path != ROOT:
        command.params.append(_quiet())
    command.epilog = f"Example: {EXAMPLES[path]}" if path in EXAMPLES else None
    for option in (*command.params, command.get_help_option(typer.Context(command, help_option_names=HELP_OPTIONS))):
        if getattr(option, "is_flag", False):
            option.metavar = ""
    for name, inner in getattr(command, "commands", {}).items():
        if path != ROOT:
            polish(inner, f"{path} {name}")
    return command


@cache
def _quiet() -> Any:
    """Return the option `--quiet`, which each command takes after its name as `tucano` takes it before."""
    only = typer.Typer(add_completion=False)

    @only.command()
    def _(quiet: Quiet = False) -> None: ...

    (option,) = typer.main.get_command(only).params
    return option
