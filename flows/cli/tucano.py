"""Command `tucano`."""

import errno
import os
import sys
from importlib import metadata
from typing import Annotated

import typer

from flows.cli.commands import HELP_OPTIONS, LazyCommands, polish
from flows.cli.options import Quiet
from flows.runtime.signals import handle_signals
from schemas.errors import InputError, Interrupted, TucanoError
from schemas.garbage import collect_rarely
from schemas.safe_path import safe_environment

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


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Apply the options of every command."""


def main() -> None:
    """Run the command; a failure that the user can fix becomes one sentence and an exit code."""
    collect_rarely()
    # What libraries start inherits it: processes of multiprocessing and of Dask, vLLM, pip.
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
