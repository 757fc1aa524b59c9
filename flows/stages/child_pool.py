"""Children of a run: one of a stage that needs weights, or several at once, limited in number and ended together."""

import platform
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from prefect.runtime import flow_run
from pydantic import BaseModel

from flows.runtime.runs import is_recorded
from flows.runtime.signals import refuse_if_interrupted
from schemas.artifact import Worker
from schemas.config.config import Config
from schemas.errors import Interrupted
from schemas.timeouts import PARENT_SECONDS
from tasks.policy.child import THREADS, ChildProcess, ask_to_end, end_group, expect_children, run_child
from tasks.train.resume.preemption import is_spot

Result = TypeVar("Result")

SECONDS_OF_A_WAIT: Final = 1.0
ENDED: Final = "ended with the others; run the same command again to resume from here"


class ChildPool:
    """Works that each have a thread, and the child processes that they start.

    Signals reach the main thread only, and a thread that waits for its child receives nothing else; so the main thread,
    which waits for the works, ends the children.
    """

    def __init__(self, at_once: int) -> None:
        """Allow so many children at once, 1 or more, whichever thread starts them."""
        self._at_once = at_once
        # Two children gain more by a core each than by two threads each.
        self._threads = THREADS if at_once == 1 else 1
        self._slots = threading.BoundedSemaphore(at_once)
        self._lock = threading.Lock()
        self._children: list[ChildProcess] = []
        self._ended: str | None = None
        """Why no other child begins."""

    def map(self, works: Mapping[str, Callable[[], Result]]) -> dict[str, Result]:
        """Do each work in a thread of the run that calls; mapped work may map in turn. Unrecorded, one after the other.

        All end before a failure is raised, an interruption first, otherwise in the order of the works: one training's
        results are kept though another failed.
        """
        if not is_recorded():
            return {name: work() for name, work in works.items()}
        with ThreadPoolExecutor(self._at_once) as threads:
            # The context has the run of Prefect that the stages of each work are parts of.
            guarded = {name: partial(copy_context().run, self._unless_ended, work) for name, work in works.items()}
            futures = {name: threads.submit(work) for name, work in guarded.items()}
            try:
                for future in futures.values():
                    # A signal that arrives in another thread wakes no wait without a timeout.
                    while not wait([future], SECONDS_OF_A_WAIT).done:
                        refuse_if_interrupted()
            except BaseException:
                self._end()
                raise
        failures = [error for future in futures.values() if (error := future.exception()) is not None]
        if failures:
            raise min(failures, key=lambda error: not isinstance(error, Interrupted))
        return {name: future.result() for name, future in futures.items()}

    def run_child(self, module: str, request: BaseModel, folder: Path, **named: Any) -> str | None:
        """Run a child once there is room for it, and return its device, as `tasks.policy.child.run_child` does."""
        with self._slots:
            try:
                return run_child(module, request, folder, threads=self._threads, started=self._add, **named)
            except Interrupted as interrupted:
                # The machine is wanted elsewhere: a child that waits for room does not start.
                self._ended = self._ended or str(interrupted)
                raise

    def _unless_ended(self, work: Callable[[], Result]) -> Result:
        self._refuse_where_ended()
        return work()

    def _add(self, child: ChildProcess) -> None:
        with self._lock:
            self._refuse_where_ended()
            self._children.append(child)

    def _refuse_where_ended(self) -> None:
        if self._ended is not None:
            raise Interrupted(self._ended)

    def _end(self) -> None:
        with self._lock:
            self._ended = self._ended or ENDED
        # All are signalled before any is waited for: each has the same short time to save its work.
        for child in self._children:
            ask_to_end(child)
        deadline = time.monotonic() + PARENT_SECONDS
        for child in self._children:
            end_group(child, max(0.0, deadline - time.monotonic()))


def pool_of(config: Config) -> ChildPool | None:
    """Return the pool of a run's own children; None where one runs at a time, or others run on another machine."""
    workers = config.workers
    if workers.concurrent_children == 1 or workers.for_inference is not None:
        return None
    return ChildPool(workers.concurrent_children)


def do_all(pool: ChildPool | None, works: Mapping[str, Callable[[], Result]]) -> dict[str, Result]:
    """Do each work, at once in a pool, or one after the other in this thread."""
    return {name: work() for name, work in works.items()} if pool is None else pool.map(works)


def expect_stage_children(config: Config) -> None:
    """Let the libraries of this run's children load while it does other work, where they run here."""
    if config.workers.for_inference is None and config.train.interpreter is None:
        expect_children()


def run_one(pool: ChildPool | None, module: str, request: BaseModel, folder: Path, **named: Any) -> str | None:
    """Run a child, one of a pool or alone, and return its device."""
    return (run_child if pool is None else pool.run_child)(module, request, folder, **named)


def this_worker(device: str | None, notice_url: str | None) -> Worker:
    """Return this machine as the worker of what was made on a device."""
    return Worker(machine=platform.node(), device=device, spot=is_spot(notice_url), prefect_run_id=flow_run.get_id())
