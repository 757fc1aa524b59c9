"""The `tucano` command."""

import os
import signal
import sys


def main() -> None:
    """Run the command; a signal while it is still loaded ends it with one sentence and exit code 4."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number, handler in before.items():
        # A shell's job in the background is started deaf to Ctrl-C.
        if handler is not signal.SIG_IGN:
            signal.signal(number, _leave)
    try:
        # Takes a second, in which a traceback would be all that Ctrl-C gives.
        from flows.cli.tucano import main as run  # noqa: PLC0415

        run()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(*_: object) -> None:
    sys.stderr.write("tucano: interrupted; nothing was begun; run the same command again\n")
    os._exit(4)
