"""A command on a real pseudo-terminal, driven by keys, and what a person would see there."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

HOME = "\x1b[H"
COMMAND = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
# The terminal becomes the child's own, so that it gets Ctrl-C.
OWNING = "import fcntl, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
LONGEST_WAIT = 30.0


class Terminal:
    """A terminal of so many columns and lines, and the process that runs on it."""

    def __init__(self, code: str, arguments: Sequence[str], environment: Mapping[str, str], size: tuple[int, int]):
        self._master, self._slave = pty.openpty()
        self.resize(size)
        self.settings = termios.tcgetattr(self._slave)
        self.process = subprocess.Popen(
            [sys.executable, "-c", OWNING + code, *arguments],
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm-256color", **environment},
        )
        self.written = ""

    def resize(self, size: tuple[int, int]) -> None:
        columns, lines = size
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    @property
    def frames(self) -> list[str]:
        """Everything that was drawn, each time without colours and commands."""
        return [COMMAND.sub("", frame).replace("\r\n", "\n") for frame in self.written.split(HOME)]

    @property
    def screen(self) -> str:
        """What stands there now."""
        return self.frames[-1]

    def wait_for(self, *texts: str) -> str:
        """Wait until all these stand on the screen, and return it."""
        until = time.monotonic() + LONGEST_WAIT
        while not all(text in self.screen for text in texts):
            assert time.monotonic() < until, f"{texts} never came:\n{self.screen}"
            assert self._read() or self.process.poll() is None, f"ended without {texts}:\n{self.screen}"
        return self.screen

    def end(self) -> tuple[int, str]:
        """Wait for the end, and return the exit code and what is left on the terminal."""
        until = time.monotonic() + LONGEST_WAIT
        while self.process.poll() is None:
            self._read()
            assert time.monotonic() < until, f"never ended:\n{self.screen}"
        while self._read():
            pass
        return self.process.returncode, COMMAND.sub("", self.written.rpartition("\x1b[?1049l")[2]).strip()

    @property
    def is_restored(self) -> bool:
        """Whether the terminal echoes, wraps lines, and shows its cursor and what was there before."""
        pairs = (("?1049h", "?1049l"), ("?25l", "?25h"), ("?7l", "?7h"), ("?2004h", "?2004l"))
        undone = all(self.written.count(f"\x1b[{on}") == self.written.count(f"\x1b[{off}") == 1 for on, off in pairs)
        return undone and self._settings() == self.settings

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._slave)
        os.close(self._master)

    def _settings(self) -> list[Any]:
        return termios.tcgetattr(self._slave)

    def _read(self) -> bool:
        if not select.select([self._master], [], [], 0.05)[0]:
            return False
        self.written += os.read(self._master, 1_000_000).decode("utf-8", "replace")
        return True


@contextmanager
def terminal(
    code: str, *arguments: str, environment: Mapping[str, str] | None = None, size: tuple[int, int] = (80, 24)
) -> Iterator[Terminal]:
    """Run Python code on a terminal for as long as the block runs."""
    opened = Terminal(code, arguments, environment or {}, size)
    try:
        yield opened
    finally:
        opened.close()
