"""Ctrl-C and SIGTERM: end a command cleanly, with one sentence and exit code 4."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from schemas.errors import Interrupted


@contextmanager
def interruptible(sentence: str) -> Iterator[None]:
    """Turn Ctrl-C and SIGTERM inside the block into `Interrupted`.

    Args:
        sentence: The message, such as what to do now.

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
    """Add to `Interrupted` the hint to drop --fresh, without which the same command would start all over again.

    Raises:
        Interrupted: The block was interrupted.
    """
    try:
        yield
    except Interrupted as interrupted:
        if not fresh:
            raise
        raise Interrupted(f"{interrupted}; leave out --fresh then, or all is made anew once more") from None


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
