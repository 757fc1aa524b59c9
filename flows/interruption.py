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


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
