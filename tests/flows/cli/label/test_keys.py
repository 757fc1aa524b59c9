"""Keys on a real pseudo-terminal: accents, sequences, a lone Esc and pastes are told apart, and no rest is a key."""

import os
import pty
import select
import sys
import termios
from collections.abc import Iterator

import pytest

from flows.cli.label.keys import Key, keys_of

LONG = 30.0


@pytest.fixture
def ends() -> Iterator[tuple[int, int]]:
    master, slave = pty.openpty()
    yield master, slave
    os.close(slave)
    os.close(master)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("5", [Key("text", "5")]),
        ("ção😀", [Key("text", "ç"), Key("text", "ã"), Key("text", "o"), Key("text", "😀")]),
        ("\x1b[A\x1bOB\x1b[C\x1b[D", [Key("up"), Key("down"), Key("right"), Key("left")]),
        ("\x1b[5~\x1b[6~\x1b[H\x1bOF", [Key("page up"), Key("page down"), Key("home"), Key("end")]),
        ("\x1b[3~\x7f\x08\x15\t", [Key("delete"), Key("backspace"), Key("backspace"), Key("clear"), Key("tab")]),
        ("\x1b", [Key("escape")]),
        ("\x1b\x1b[A", [Key("escape"), Key("up")]),
        ("a\r", [Key("text", "a"), Key("enter")]),
        ("\x04", [Key("end of input")]),
        ("\x1b[200~1\n5 é\x1b[A\x1b[201~q", [Key("paste", "1\n5 é\x1b[A"), Key("text", "q")]),
    ],
)
def test_keys_are_named(ends: tuple[int, int], typed: str, expected: list[Key]) -> None:
    master, slave = ends
    with keys_of(slave, sys.stdout) as keys:
        os.write(master, typed.encode())
        assert [keys.read(LONG) for _ in expected] == expected
        assert keys.read(0) == Key("nothing")


@pytest.mark.parametrize("typed", ["\x1b5", "\x1b[15~", "\x1b[1;5C", "\x1b[5", "\x01", "\x1a", "\x1c"])
def test_what_has_no_name_is_no_key(ends: tuple[int, int], typed: str) -> None:
    master, slave = ends
    with keys_of(slave, sys.stdout) as keys:
        os.write(master, typed.encode())
        # Had it been taken for a signal, there would be nothing to read.
        assert select.select([slave], [], [], LONG)[0]
        assert keys.read(LONG) == Key("nothing")
        os.write(master, b"s")
        assert keys.read() == Key("text", "s")


def test_a_letter_may_come_byte_by_byte(ends: tuple[int, int]) -> None:
    master, slave = ends
    with keys_of(slave, sys.stdout) as keys:
        read = []
        for byte in "ã".encode():
            os.write(master, bytes([byte]))
            assert select.select([slave], [], [], LONG)[0]
            read.append(keys.read(0))
        assert read == [Key("nothing"), Key("text", "ã")]


def test_what_was_typed_before_anything_was_shown_is_dropped(ends: tuple[int, int]) -> None:
    master, slave = ends
    os.write(master, b"5\n1\n")
    assert select.select([slave], [], [], LONG)[0]
    with keys_of(slave, sys.stdout) as keys:
        assert keys.read(0.1) == Key("nothing")


def test_a_new_size_is_told_once(ends: tuple[int, int]) -> None:
    _, slave = ends
    with keys_of(slave, sys.stdout) as keys:
        assert keys.size == (80, 24)
        termios.tcsetwinsize(slave, (50, 132))
        assert keys.read() == Key("resized")
        assert (keys.size, keys.read(0)) == ((132, 50), Key("nothing"))


@pytest.mark.parametrize("end", ["slave", "master"])
def test_a_terminal_that_is_gone_is_the_end_of_the_input(end: str) -> None:
    master, slave = pty.openpty()
    read, closed = (slave, master) if end == "slave" else (master, slave)
    with keys_of(read, sys.stdout) as keys:
        os.close(closed)
        assert [keys.read(LONG), keys.read(LONG)] == [Key("end of input")] * 2
    os.close(read)


@pytest.mark.parametrize("failure", [None, KeyboardInterrupt])
def test_the_terminal_is_given_back_as_it_was(ends: tuple[int, int], failure: type[BaseException] | None) -> None:
    _, slave = ends
    before = termios.tcgetattr(slave)
    try:
        with keys_of(slave, sys.stdout):
            assert not termios.tcgetattr(slave)[3] & (termios.ECHO | termios.ICANON)
            if failure:
                raise failure
    except KeyboardInterrupt:
        pass
    assert termios.tcgetattr(slave) == before
