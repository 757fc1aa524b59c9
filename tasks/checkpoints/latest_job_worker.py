"""Worker thread that runs only the newest of its pending jobs, without blocking the caller."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Job = TypeVar("Job")


class LatestJobWorker(Generic[Job]):
    """Worker for one job at a time; a newer pending job replaces an older one of its kind."""

    def __init__(self, name: str, work: Callable[[Job], None]) -> None:
        """Start the thread.

        Args:
            name: The thread's name.
            work: Runs a job.
        """
        self._work = work
        self._changed = threading.Condition()
        self._waiting: dict[str, Job] = {}
        self._current: Job | None = None
        self._closed = False
        self.failure: Exception | None = None
        """The last job's exception; None if it succeeded."""
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, job: Job, kind: str = "newest") -> None:
        """Submit a job; it replaces a pending one of the same kind."""
        with self._changed:
            # At the end, so that jobs run in the order of submission.
            self._waiting.pop(kind, None)
            self._waiting[kind] = job
            self._changed.notify_all()

    def unfinished(self) -> list[Job]:
        """Return the running job and the pending ones."""
        with self._changed:
            return [*([] if self._current is None else [self._current]), *self._waiting.values()]

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until no job is left, for at most `seconds`; return whether none is."""
        with self._changed:
            return self._changed.wait_for(lambda: self._current is None and not self._waiting, seconds)

    def close(self, seconds: float | None = None) -> None:
        """End the thread after the running job, waiting at most `seconds`; pending jobs are dropped."""
        with self._changed:
            self._waiting.clear()
            self._closed = True
            self._changed.notify_all()
        self._thread.join(seconds)

    def _run(self) -> None:
        while (job := self._next()) is not None:
            try:
                self._work(job)
            except Exception as error:  # noqa: BLE001 - a thread's last resort: whoever asked for the job raises it
                self.failure = error
            else:
                self.failure = None
            with self._changed:
                self._current = None
                self._changed.notify_all()

    def _next(self) -> Job | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            if not self._waiting:
                return None
            kind = next(iter(self._waiting))
            self._current = self._waiting.pop(kind)
            return self._current
