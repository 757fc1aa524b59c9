"""Command `tucano`: the table of its commands, their shared options, and the end of each."""

import errno
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer
from typer.core import TyperCommand, TyperGroup

from flows.runtime.signals import handle_signals, interruptible
from schemas.errors import InputError, Interrupted, TucanoError
from schemas.python_process import collect_rarely, safe_environment

if TYPE_CHECKING:
    from schemas.config.config import Config

COMMANDS: Final[Mapping[str, str]] = {
    "retrain": "Retrain, end to end. Run again, it resumes: finished stages are skipped.",
    "l4": "Retrain with one job on a rented L4, or on this machine. Run again, it finds the job and goes on.",
    "score": "Score rollouts of any model with the rewards.",
    "synthesize": "Make a store, simulated, Olist's or of your own files, and prompts with references from it.",
    "init": "Look at your own files, and write the column map and the profile that train on them.",
    "curate": "Make one dataset of prompts: checked, scrubbed, without copies, split without leakage.",
    "plan": "Make all that is cheap, and print whether more training is worth its price; no GRPO is run.",
    "train": "Train, and make before it what is not there yet. Run again, it resumes from its newest checkpoint.",
    "evaluate": "Evaluate on the test split, after all that it needs; exit code 3 where the verdict is no promotion.",
    "compare": "Compare two models' scores, and say whether the second may be promoted; exit code 3 where it is held.",
    "promote": "Promote a registered version; exit code 3 where the gate holds it and nothing is forced.",
    "ask": "Ask the champion, on this machine: one prompt, a file of them, or what a pipe gives.",
    "serve": "Serve the champion over HTTP: OpenAI's API, and a path for each task; a new one takes over by itself.",
    "export": "Export a version for other programs, proven by reading it back; exit code 3 where it differs.",
    "monitor": "Score production logs, and compare them with the champion's evaluation; exit code 3 for any alarm.",
    "lineage": "Walk from a model, a run, an artifact or a row to all that it came from and led to.",
    "show": "Show a prompt's answers and rollouts, or a step's rollouts, of the newest training.",
    "forget": "Take a person out of data, logs and models, and prove it; exit code 3 where something was missed.",
    "doctor": "Say what a run with this profile needs, and what of it is missing here. Nothing is changed.",
    "ui": "Serve Prefect's and MLflow's pages on loopback, until Ctrl-C.",
    "audit": "Check, before training, that the rewards rank answers as human raters do.",
    "phrases": "Let a model propose openers of pushes, and add those that a person approves to the shop's own.",
    "benchmark": "Write a test of the six tasks for any harness, run a model on it, and score answers.",
    "environment": "Write a dataset's prompts and audited rewards as a package that other trainers load.",
    "adopt": "Record what another trainer made as a policy, and evaluate it as ours; exit code 3 where it is held.",
    "checkpoints": "List, verify, pull and prune the checkpoints of a mirror: a folder or gs://bucket/prefix.",
    "infra": "Put work pools, deployments and automations on the Prefect server of PREFECT_API_URL.",
}
"""Help of each command, by its name; a test compares it with the command's own."""

ROOT: Final = "tucano"
MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "champion": ("ask", "export", "promote", "monitor"),
    "compare": ("score",),
    "data": ("init", "synthesize", "curate"),
    "environment": ("adopt",),
    "infra": ("doctor",),
    "lineage": ("show",),
    "servers": ("serve", "ui"),
    "training": ("retrain", "plan", "train", "evaluate"),
}
"""Modules of more than one command; each other command is the module of its name."""
HELP_OPTIONS: Final = ["-h", "--help"]
EXAMPLES: Final[Mapping[str, str]] = {
    ROOT: "tucano retrain --profile local",
    "retrain": "tucano retrain --profile local --set train.max_steps=20",
    "l4": "tucano l4 --bucket gs://BUCKET/tucano --dry-run",
    "score": "tucano score ROLLOUTS.jsonl --metrics --out SCORED.jsonl",
    "synthesize": "tucano synthesize --count 5000 --seed 42 --out PROMPTS",
    "init": "tucano init exports/ --out shop",
    "curate": "tucano curate PROMPTS --out DATASET",
    "plan": "tucano plan --profile local",
    "train": "tucano train --profile l4 --dry-run",
    "evaluate": "tucano evaluate --profile local",
    "compare": "tucano compare BASE.scores.jsonl TUNED.scores.jsonl --report REPORT",
    "promote": 'tucano promote 3 --force "the shop needs it today"',
    "ask": 'tucano ask push product="mala" offer="10% de desconto" segment="novos"',
    "serve": "tucano serve --port 8081",
    "export": "tucano export champion --format gguf --out EXPORT",
    "monitor": "tucano monitor LOGS --report REPORT",
    "lineage": "tucano lineage champion --html LINEAGE.html",
    "show": "tucano show 20 --task push --worst",
    "forget": "tucano forget CUSTOMER --dry-run",
    "doctor": "tucano doctor --profile l4 --all",
    "ui": "tucano ui --state .tucano",
    "audit": "tucano audit check SHEET.csv --rollouts ROLLOUTS.jsonl --report REPORT",
    "phrases": "tucano phrases propose cozinha --output SHEET.csv",
    "benchmark": "tucano benchmark score TEST ANSWERS.jsonl",
    "environment": "tucano environment write DATASET --out PACKAGE --engine prime-rl",
    "adopt": "tucano adopt FOLDER --trained-by trl@1.15.0 --environment SHA",
    "checkpoints": "tucano checkpoints pull --pin best --out CHECKPOINT",
    "infra": "tucano infra apply --profile l4",
}
"""An example of each command; the help shows it."""


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
    if command := getattr(module, name, None):
        whole.command(name)(command)
    else:
        whole.add_typer(module.app)
    return polish(typer.main.get_group(whole).commands[name], name)


def group(name: str) -> typer.Typer:
    """Return an empty group of commands with the help of the table."""
    return typer.Typer(name=name, help=COMMANDS[name], no_args_is_help=True, pretty_exceptions_enable=False)


def polish(command: Any, name: str) -> Any:
    """Give a command and those in it --quiet and an example; its help leaves out that a flag is a truth value."""
    if name != ROOT:
        command.params.append(_quiet())
    command.epilog = f"Example: {EXAMPLES[name]}" if name in EXAMPLES else None
    for option in (*command.params, command.get_help_option(typer.Context(command, help_option_names=HELP_OPTIONS))):
        if getattr(option, "is_flag", False):
            option.metavar = ""
    for inner in getattr(command, "commands", {}).values() if name != ROOT else ():
        polish(inner, "")
    return command


@cache
def _quiet() -> Any:
    """Return the option `--quiet`, which each command takes after its name as `tucano` takes it before."""
    only = typer.Typer(add_completion=False)

    @only.command()
    def _(quiet: Quiet = False) -> None: ...

    (option,) = typer.main.get_command(only).params
    return option


UNDONE = "interrupted, and nothing was written; run the same command again"
LOOKED = "interrupted, and nothing was changed; run the same command again"

ReportLanguage = Annotated[Literal["en", "pt"] | None, typer.Option("--language", help="The report's language.")]


def _be_quiet(asked: bool) -> None:
    if asked:
        from flows.runtime.console import be_quiet  # noqa: PLC0415 - `tucano --help` needs no more than Typer

        be_quiet()


Quiet = Annotated[bool, typer.Option("--quiet", "-q", callback=_be_quiet, expose_value=False, help="No progress.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Make all again; interrupted, it resumes when run without.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON document on stdout.")]
StateFolder = Annotated[Path | None, typer.Option("--state", metavar="FOLDER", help="The state folder.")]


def _profiles(incomplete: str) -> Iterable[str]:
    """Return the names of profiles for a shell's completion."""
    from schemas.config.profiles import known_profiles  # noqa: PLC0415 - `tucano --help` needs no more than Typer

    return [name for name in known_profiles() if name.startswith(incomplete)]


Profile = Annotated[str, typer.Option(help="A profile's name, or a path to a TOML file.", autocompletion=_profiles)]
Overrides = Annotated[list[str], typer.Option("--set", metavar="A.B=C", help="Override one value. May be repeated.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before money is spent.")]


def configured(profile: str, overrides: Sequence[str], state: Path | None, *, makes_prompts: bool = True) -> "Config":
    """Read a profile with its overrides, and the state folder of --state: short for --set state.root=FOLDER."""
    from schemas.config.profiles import load_config  # noqa: PLC0415 - `tucano --help` needs no more than Typer
    from tasks.commerce.push.phrases import use_own  # noqa: PLC0415 - as above

    # A JSON string is one in TOML too: a folder may be called 2026.
    root = [] if state is None else [f"state.root={json.dumps(str(state))}"]
    config = load_config(profile, [*overrides, *root], makes_prompts=makes_prompts)
    use_own(config.rewards.phrases)
    return config


app = typer.Typer(
    cls=LazyCommands,
    name="tucano",
    help="Retrain a compact Portuguese model for Brazilian e-commerce, and prove that it got better.",
    no_args_is_help=True,
    context_settings={"help_option_names": HELP_OPTIONS},
    pretty_exceptions_enable=False,
)

DISK_ERRORS = {errno.ENOSPC, errno.EACCES, errno.EPERM, errno.EROFS, errno.EDQUOT}


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"tucano {metadata.version('tucano2-commerce')}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")]


@app.callback()
def root(version: Version = False, quiet: Quiet = False) -> None:
    """Apply the options of every command."""


def main() -> None:
    """Run the command; a failure that the user can fix becomes one sentence and an exit code."""
    collect_rarely()
    # What libraries start inherits it: processes of multiprocessing, vLLM, pip.
    os.environ |= safe_environment()
    with handle_signals(_interrupt):
        try:
            polish(typer.main.get_command(app), "tucano")()
        except TucanoError as error:
            _end(error)
        except OSError as error:
            if error.errno not in DISK_ERRORS:
                raise
            place = error.filename or "a file"
            _end(InputError(f"{place} cannot be used: {error.strerror}; fix that, and run the same command again"))


def _interrupt(*_: object) -> None:
    """End a command between those of its parts that end at a signal in their own way."""
    raise Interrupted("interrupted; run the same command again")


def _end(error: TucanoError) -> None:
    # `tucano --help` needs no more than Typer.
    from flows.runtime.console import show  # noqa: PLC0415

    show(f"tucano: {error}")
    sys.exit(error.exit_code)
