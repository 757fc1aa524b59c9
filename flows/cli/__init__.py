"""The `tucano` command."""

import os
import sys

from flows.runtime.signals import handle_signals


def main() -> None:
    """Run the command; a signal while it is still loaded ends it with one sentence and exit code 4."""
    with handle_signals(_leave):
        # Takes a second, in which a traceback would be all that Ctrl-C gives.
        from flows.cli.tucano import main as run  # noqa: PLC0415

        run()


def _leave(*_: object) -> None:
    sys.stderr.write("tucano: interrupted; nothing was begun; run the same command again\n")
    os._exit(4)
