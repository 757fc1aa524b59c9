"""Key presses of a terminal.

Uses the standard library's termios and no package: readchar 4.2 waits for another key after a lone Esc, discards and
echoes what is typed between two reads, and takes a pasted text for keys, each digit of it for a score.
"""

import codecs
import os
import re
import select
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, Final, Literal, NamedTuple

# fmt: off
Name = Literal[
    "text", "paste", "enter", "escape", "backspace", "delete", "clear", "tab", "up", "down", "left", "right", "page up",
    "page down", "home", "end", "resized", "nothing", "end of input",
]
# fmt: on

_CHARACTERS: Final[Mapping[str, Name]] = {
    "\r": "enter",
    "\n": "enter",
    "\t": "tab",
    "\x7f": "backspace",
    "\x08": "backspace",
    "\x15": "clear",
    "\x04": "end of input",
}
_SEQUENCES: Final[Mapping[str, Name]] = {
    "\x1b[A": "up",
    "\x1b[B": "down",
    "\x1b[C": "right",
    "\x1b[D": "left",
    "\x1b[H": "home",
    "\x1b[F": "end",
    "\x1b[1~": "home",
    "\x1b[3~": "delete",
    "\x1b[4~": "end",
    "\x1b[5~": "page up",
    "\x1b[6~": "page down",
}
_SEQUENCE: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O[ -~]|[^\[O\x1b])")
_BEGUN: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|O)?")
_PASTE_BEGINS, _PASTE_ENDS = "\x1b[200~", "\x1b[201~"
_PASTES_ARE_MARKED, _PASTES_ARE_KEYS = "\x1b[?2004h", "\x1b[?2004l"
# A terminal sends a key's sequence at once; later bytes belong to another key.
_SECONDS_OF_A_SEQUENCE: Final = 0.1
_SECONDS_BETWEEN_LOOKS: Final = 0.25


class Key(NamedTuple):
    """One key press, or other input of a terminal."""

    name: Name
    """Name of the key; `text` is a character, and `nothing` a key without a meaning here, or none before the
    timeout."""
    text: str = ""
    """The character of a `text`; all characters of a `paste`."""


class Keys:
    """Key presses of a terminal, one after another."""

    def __init__(self, terminal: int) -> None:
        """Read from the file descriptor of a terminal that delivers every key at once."""
        self._terminal = terminal
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._waiting = ""
        self._ended = False
        self._size = self.size

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines of the terminal; 80 and 24 where it does not report them."""
        try:
            columns, lines = os.get_terminal_size(self._terminal)
        except OSError:
            columns = lines = 0
        return columns or 80, lines or 24

    def read(self, timeout: float | None = None) -> Key:
        """Wait for the next key; the timeout is in seconds."""
        until = None if timeout is None else time.monotonic() + timeout
        while not self._waiting and not self._ended:
            self._fill(_SECONDS_BETWEEN_LOOKS)
            if self._size != self.size:
                self._size = self.size
                return Key("resized")
            if not self._waiting and until is not None and time.monotonic() >= until:
                return Key("nothing")
        if not self._waiting:
            return Key("end of input")
        first = self._waiting[0]
        if first == "\x1b":
            return self._sequence()
        self._waiting = self._waiting[1:]
        if first in _CHARACTERS:
            return Key(_CHARACTERS[first])
        return Key("text", first) if first.isprintable() else Key("nothing")

    def _sequence(self) -> Key:
        while _BEGUN.fullmatch(self._waiting) and self._fill(_SECONDS_OF_A_SEQUENCE):
            pass
        found = _SEQUENCE.match(self._waiting)
        if found is None:
            alone = self._waiting == "\x1b" or self._waiting.startswith("\x1b\x1b")
            # The rest of a split sequence must not be taken for keys: it may hold digits.
            self._waiting = self._waiting[1:] if alone else ""
            return Key("escape" if alone else "nothing")
        self._waiting = self._waiting[found.end() :]
        if found[0] == _PASTE_BEGINS:
            return self._paste()
        return Key(_SEQUENCES.get(found[0].replace("\x1bO", "\x1b["), "nothing"))

    def _paste(self) -> Key:
        while _PASTE_ENDS not in self._waiting and not self._ended:
            self._fill(_SECONDS_BETWEEN_LOOKS)
        text, _, self._waiting = self._waiting.partition(_PASTE_ENDS)
        return Key("paste", text)

    def _fill(self, seconds: float) -> bool:
        """Read what is typed within some seconds, and return whether there was anything."""
        if self._ended or not select.select([self._terminal], [], [], seconds)[0]:
            return False
        try:
            typed = os.read(self._terminal, 65_536)
        except OSError:
            # The terminal was closed.
            typed = b""
        self._ended = not typed
        self._waiting += self._decoder.decode(typed, final=self._ended)
        return bool(typed)


@contextmanager
def keys_of(terminal: int, screen: IO[str]) -> Iterator[Keys]:
    """Set a terminal to deliver every key at once and to echo none, while the block runs.

    Args:
        terminal: The file descriptor that keys are read from.
        screen: Output of the same terminal.
    """
    before = termios.tcgetattr(terminal)
    changed = termios.tcgetattr(terminal)
    changed[0] &= ~termios.IXON
    changed[3] &= ~(termios.ICANON | termios.ECHO)
    # Ctrl-C stays a signal. Ctrl-Z and Ctrl-\ would leave the shell with the settings made here.
    disabled = bytes([os.fpathconf(terminal, "PC_VDISABLE")])
    for sign, value in ((termios.VSUSP, disabled), (termios.VQUIT, disabled), (termios.VMIN, 1), (termios.VTIME, 0)):
        changed[6][sign] = value
    try:
        # Keys pressed before anything was visible were not meant for what is shown now.
        termios.tcsetattr(terminal, termios.TCSAFLUSH, changed)
        print(_PASTES_ARE_MARKED, end="", file=screen, flush=True)
        yield Keys(terminal)
    finally:
        with suppress(OSError):
            print(_PASTES_ARE_KEYS, end="", file=screen, flush=True)
        with suppress(termios.error):
            termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
