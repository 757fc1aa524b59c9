"""Command `tucano`."""

import errno
import sys

import typer

from flows.cli.commands import LazyCommands
from schemas.errors import InputError, TucanoError
from schemas.garbage import collect_rarely

app = typer.Typer(
    cls=LazyCommands,
    name="tucano",
    help="Retrain a compact Portuguese model for Brazilian e-commerce, and prove that it got better.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

DISK_ERRORS = {errno.ENOSPC, errno.EACCES, errno.EPERM, errno.EROFS, errno.EDQUOT}


@app.callback()
def root() -> None:
    """Group the commands; Typer makes no group of an application without any."""


def main() -> None:
    """Run the command; a failure that the user can fix becomes one sentence and an exit code."""
    collect_rarely()
    try:
        app()
    except TucanoError as error:
        _end(error)
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        place = error.filename or "a file"
        _end(InputError(f"{place} cannot be written: {error.strerror}; fix that, and run the same command again"))


def _end(error: TucanoError) -> None:
    # `tucano --help` needs no more than Typer.
    from flows.runtime.console import say  # noqa: PLC0415

    say(f"tucano: {error}")
    sys.exit(error.exit_code)
