"""Ctrl-C and SIGTERM end a command with one sentence and exit code 4, after it has cleaned up behind itself."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from schemas.errors import Interrupted


@contextmanager
def interruptible(sentence: str) -> Iterator[None]:
    """Turn Ctrl-C and SIGTERM inside the block into `Interrupted`.

    Args:
        sentence: What is told, such as what to do now.

    Raises:
        Interrupted: One of them came.
    """
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(sentence) from None
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def told_about_fresh(fresh: bool) -> Iterator[None]:
    """Where a command that makes everything anew is interrupted, say that the same command would do so once more.

    Raises:
        Interrupted: The block was.
    """
    try:
        yield
    except Interrupted as interrupted:
        if not fresh:
            raise
        raise Interrupted(f"{interrupted}; leave out --fresh then, or all is made anew once more") from None


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
