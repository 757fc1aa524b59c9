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

from rich.cells import cell_len

COMMAND = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07)")
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
        self._closed = False
        self._drawn = self._row = self._column = 0
        self._cells: dict[tuple[int, int], str] = {}

    def resize(self, size: tuple[int, int]) -> None:
        self._columns, self._lines = size
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", self._lines, self._columns, 0, 0))

    def press(self, keys: str) -> None:
        self.send(keys.encode())

    def send(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def pause(self, seconds: float) -> None:
        """Let time pass for which nothing else could be waited for."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._read()

    def hang_up(self) -> None:
        """Close the terminal, as a lost connection does."""
        os.close(self._slave)
        os.close(self._master)
        self._closed = True

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    @property
    def screen(self) -> str:
        """What stands there now."""
        while (place := self._drawn) < len(self.written):
            found = COMMAND.match(self.written, place)
            if found is None and self.written[place] == "\x1b":
                break
            self._drawn = found.end() if found else place + 1
            if found is None:
                self._draw(self.written[place])
            elif found[0].endswith("H"):
                row, _, column = found[0][2:-1].partition(";")
                self._row, self._column = int(row or 1) - 1, int(column or 1) - 1
            elif found[0] in {"\x1b[2J", "\x1b[?1049h"}:
                self._cells.clear()
        return "\n".join("".join(self._line(row)) for row in range(self._lines)).rstrip()

    def _draw(self, sign: str) -> None:
        if sign == "\r":
            self._column = 0
        elif sign == "\n":
            self._row += 1
        else:
            width = cell_len(sign)
            if not width:
                self._cells[self._row, self._column - 1] += sign
                return
            self._cells[self._row, self._column] = sign
            self._cells |= {(self._row, self._column + behind): "" for behind in range(1, width)}
            self._column += width

    def _line(self, row: int) -> Iterator[str]:
        return (self._cells.get((row, column), " ") for column in range(self._columns))

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
        if not self._closed:
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
