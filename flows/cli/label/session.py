"""Run of a rater's screen on the terminal, and how it ends."""

import asyncio
import os
import signal
import sys

from textual.app import App

from flows.cli.label.terminal import RaterTerminal
from schemas.errors import InputError


class RaterApp(App[None], inherit_bindings=False):
    """A screen that says how it ended."""

    CSS = """
    Screen { background: ansi_default; color: ansi_default; }
    #top, #bottom, #writing, Static { height: 1; }
    Pane > Static { height: auto; }
    #top Static { width: 1fr; text-style: bold; text-wrap: nowrap; text-overflow: ellipsis; }
    ProgressBar, Bar { width: 20; }
    Bar > .bar--bar, Bar > .bar--complete { color: ansi_cyan; background: ansi_bright_black; }
    #status { color: ansi_green; }
    Note { width: 1fr; background: ansi_default; }
    """
    ENABLE_COMMAND_PALETTE = False
    interrupted = False
    """Whether Ctrl-C or a signal ended it."""
    failure: InputError | None = None
    """Why an answer could not be saved."""

    def __init__(self) -> None:
        """Draw on the rater's terminal."""
        if not os.environ.get("NO_COLOR"):
            # Textual leaves colours out where the variable is empty, too.
            os.environ.pop("NO_COLOR", None)
        super().__init__(driver_class=RaterTerminal, ansi_color=True)
        self.animation_level = "none"

    def interrupt(self) -> None:
        """Leave as Ctrl-C does."""
        self.interrupted = True
        self.exit()


def refuse_without_terminal(command: str, otherwise: str = "") -> None:
    """Refuse to draw a screen that nobody would see.

    Args:
        command: The command's name.
        otherwise: The end of the sentence: what can be done instead.

    Raises:
        InputError: Standard input or error is no terminal.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()) or os.environ.get("TERM") == "dumb":
        raise InputError(f"{command} needs a terminal that shows it and gives it keys; run it in one{otherwise}")


def run_on_terminal(app: RaterApp) -> None:
    """Show a screen until the person leaves; SIGINT and SIGTERM interrupt it."""
    asyncio.run(_run(app))


def refuse_failure(app: RaterApp) -> None:
    """End the command where the screen could not go on.

    Raises:
        InputError: An answer could not be saved.
    """
    if app.failure is not None:
        raise app.failure
    if app.return_code:
        # A mistake of ours, whose traceback is on the terminal.
        sys.exit(app.return_code)


async def _run(app: RaterApp) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, app.interrupt)
    await app.run_async(mouse=False)
