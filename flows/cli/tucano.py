"""Command `tucano`: the table of its commands, their shared options, and the end of each."""

import errno
import json
import os
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from flows.runtime.language import speak
from flows.runtime.signals import handle_signals, interruptible
from schemas.errors import InputError, Interrupted, TucanoError
from schemas.python_process import collect_rarely, safe_environment

if TYPE_CHECKING:
    from schemas.config.config import Config
    from schemas.config.section import Language

TABLE: Final[Mapping[str, Any]] = tomllib.loads(Path(__file__).with_name("commands.toml").read_text(encoding="utf-8"))
COMMANDS: Final[Mapping[str, Mapping[str, str]]] = {
    name: command for group in TABLE["groups"].values() for name, command in group["commands"].items()
}
"""Help of each command, in English and Portuguese, an example, and its module if that has another name."""
ROOT: Final = "tucano"
LANGUAGE_VARIABLE: Final = "TUCANO_LANGUAGE"
HELP_OPTIONS: Final = ["-h", "--help"]


class LazyCommands(TyperGroup):
    """Group that imports the module of a command only to run it."""

    def __init__(self, **named: Any) -> None:
        """List the table; the arguments are Typer's."""
        super().__init__(**named)
        for title, group in TABLE["groups"].items():
            for name, command in group["commands"].items():
                panel = _worded({"en": title, **group})
                self.commands[name] = TyperCommand(name, help=_worded(command), rich_help_panel=panel)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the command that is run, whole."""
        name, command, others = super().resolve_command(ctx, args)
        return name, load(name) if name is not None and name in COMMANDS else command, others


def _worded(texts: Mapping[str, str]) -> str:
    return texts[chosen_language() or "en"]


def load(name: str) -> Any:
    """Import a command: a module's `app`, or its function of the command's name."""
    with interruptible(LOOKED):
        module = import_module(f"flows.cli.{COMMANDS[name].get('module', name)}")
    whole = typer.Typer()
    if command := getattr(module, name, None):
        whole.command(name)(command)
    else:
        whole.add_typer(module.app)
    return polish(typer.main.get_group(whole).commands[name], name)


def group(name: str) -> typer.Typer:
    """Return an empty group of commands with the help of the table."""
    return typer.Typer(name=name, help=_worded(COMMANDS[name]), no_args_is_help=True, pretty_exceptions_enable=False)


def polish(command: Any, name: str) -> Any:
    """Give a command and those in it the shared options and an example; its help leaves out that a flag is a truth."""
    command.params += _shared()
    command.help = _worded(COMMANDS[name]) if name in COMMANDS else command.help
    command.epilog = f"Example: {COMMANDS.get(name, TABLE)['example']}" if name else None
    for option in (*command.params, command.get_help_option(typer.Context(command, help_option_names=HELP_OPTIONS))):
        if getattr(option, "is_flag", False):
            option.metavar = ""
    for inner in getattr(command, "commands", {}).values() if name != ROOT else ():
        polish(inner, "")
    return command


@cache
def _shared() -> list[Any]:
    """Return the options that each command takes, after its name or before."""
    only = typer.Typer(add_completion=False)

    @only.command()
    def _(quiet: Quiet = False, language: RunLanguage = None) -> None: ...

    return typer.main.get_command(only).params


UNDONE = "interrupted, and nothing was written; run the same command again"
LOOKED = "interrupted, and nothing was changed; run the same command again"


def chosen_language() -> "Language | None":
    """Return the language that --language or TUCANO_LANGUAGE asks for, before the words are checked."""
    words = " ".join([f"--language={os.environ.get(LANGUAGE_VARIABLE)}", *sys.argv])
    asked: list[Language] = re.findall(r"--language[= ](en|pt)\b", words)
    return asked[-1] if asked else None


RunLanguage = Annotated[
    Literal["en", "pt"] | None,
    typer.Option(
        "--language", envvar=LANGUAGE_VARIABLE, expose_value=False, help="Of what is printed, and of reports."
    ),
]


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
    spoken = [f'report.language="{language}"'] if (language := chosen_language()) else []
    config = load_config(profile, [*spoken, *overrides, *root], makes_prompts=makes_prompts)
    use_own(config.rewards.phrases)
    speak(config.language)
    return config


app = typer.Typer(
    cls=LazyCommands,
    name="tucano",
    help="Retrain a compact Portuguese model for Brazilian e-commerce, and prove that it got better.",
    invoke_without_command=True,
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
def root(context: typer.Context, version: Version = False) -> None:  # noqa: ARG001 - an option
    """Apply the options of every command; without one, say which four to begin with."""
    if context.invoked_subcommand is None:
        typer.echo(_worded(TABLE["first_screen"]))
        raise typer.Exit(2)


def main() -> None:
    """Run the command; a failure that the user can fix becomes one sentence and an exit code."""
    collect_rarely()
    speak(chosen_language() or "en")
    # What libraries start inherits it: processes of multiprocessing, vLLM, pip.
    os.environ |= safe_environment()
    with handle_signals(_interrupt):
        try:
            ended = polish(typer.main.get_command(app), ROOT)(prog_name=ROOT, standalone_mode=False)
        except TucanoError as error:
            _end(error)
        except TyperException as mistake:
            _end(_refusal(mistake))
        except OSError as error:
            if error.errno not in DISK_ERRORS:
                raise
            what = f"{error.filename or 'a file'} cannot be used: {error.strerror}"
            _end(InputError(f"{what}; fix that, and run the same command again"))
    sys.exit(ended or 0)


def _refusal(mistake: TyperException) -> InputError:
    """Return words that Typer refused as one sentence, with where the right ones stand."""
    said = " ".join(mistake.format_message().split()).rstrip(".").replace("Value error, ", "")
    if faults := getattr(mistake.__cause__, "errors", None):
        # Pydantic's sentence has no value.
        said = said.replace("Input should be", f"{faults()[0]['input']!r} should be").partition(", unable to")[0]
    if not said:
        # A group of commands without one of them has printed its help.
        sys.exit(InputError.exit_code)
    context = getattr(mistake, "ctx", None)
    return InputError(f"{said}; see `{context.command_path if context else ROOT} --help`")


def _interrupt(*_: object) -> None:
    """End a command between those of its parts that end at a signal in their own way."""
    raise Interrupted("interrupted; run the same command again")


def _end(error: TucanoError) -> None:
    from flows.runtime.console import show  # noqa: PLC0415 - `tucano --help` needs no more than Typer

    show(f"tucano: {error}")
    sys.exit(error.exit_code)
