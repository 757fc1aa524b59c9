"""A process that dies at any call to its store."""

from collections.abc import Callable
from threading import Lock
from typing import Any

from tasks.checkpoints.object_store import ObjectStore


class DyingError(Exception):
    """The process ends here."""


class DyingStore:
    """A store whose process dies at its n-th call, before the call has its effect or after it."""

    def __init__(self, store: ObjectStore, call: int, *, after: bool) -> None:
        self._store, self._left, self._after, self._lock = store, call, after, Lock()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._store, name)

        def call(*arguments: Any) -> Any:
            with self._lock:
                self._left -= 1
                if self._left < 0 or (self._left == 0 and not self._after):
                    raise DyingError
                result = method(*arguments)
                if self._left == 0:
                    raise DyingError
                return result

        return call


def calls_of(work: Callable[[ObjectStore], object], prepare: Callable[[], ObjectStore]) -> int:
    """Count the calls that a piece of work makes to its store."""
    for call in range(1, 1000):
        try:
            work(DyingStore(prepare(), call, after=False))
        except DyingError:
            continue
        return call - 1
    raise AssertionError("the work never ends")
