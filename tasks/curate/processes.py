"""Map over shards: in this process, or in several processes of this machine."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol

from schemas.errors import Interrupted


class MapShards(Protocol):
    """Ordered map of a function over inputs; results come in input order."""

    def __call__(self, function: Callable[[Any], Any], things: Sequence[Any]) -> Iterator[Any]:
        """Yield each result as soon as it and all previous ones are available."""


def in_processes(workers: int) -> MapShards:
    """Return a map over so many processes; with one process or one input, in this one.

    Raises:
        Interrupted: On use, if a process was killed, as the system does when memory runs out.
    """

    def map_shards(function: Callable[[Any], Any], things: Sequence[Any]) -> Iterator[Any]:
        if min(workers, len(things)) <= 1:
            yield from map(function, things)
            return
        # Forked children would share polars' threads and locks.
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(min(workers, len(things)), mp_context=context, initializer=_prepare)
        try:
            yield from pool.map(function, things)
        except BrokenProcessPool:
            raise Interrupted(
                "a worker process was killed, perhaps for want of memory; lower curate.workers or curate.shard_rows, "
                "and run the same command again"
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)

    return map_shards


def _prepare() -> None:
    """Leave Ctrl-C to the parent, and end with the parent however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
