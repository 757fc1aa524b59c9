"""Reports of a running training: its metrics in MLflow, its alarms in the terminal and in the run's log."""

import threading
from types import TracebackType
from typing import Final, Self

from flows.runtime.console import warn
from flows.runtime.run_page import run_log, run_page
from tasks.lineage.mlflow.recorder import StageRun

SECONDS_BETWEEN_WRITES: Final = 5.0


class TrainingPage:
    """Receiver of a child's reports, from any thread, that never lets the child wait for MLflow.

    A thread of its own writes the metrics: all since the last write at once, and the rest when the block ends, however
    it ends. Where MLflow cannot be written, they are kept for the next write; only the last write fails the stage.
    """

    def __init__(self, run: StageRun, training: str, *, seconds_between_writes: float = SECONDS_BETWEEN_WRITES) -> None:
        """Receive the reports of a training by its name."""
        self._run, self._training, self._seconds = run, training, seconds_between_writes
        self._lock = threading.Lock()
        self._waiting: list[tuple[int, dict[str, float]]] = []
        self._ended = threading.Event()
        self._writer = threading.Thread(target=self._write_now_and_then, name=f"{training}-metrics", daemon=True)

    def __enter__(self) -> Self:
        """Start the writing thread."""
        self._writer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write what is left."""
        self._ended.set()
        self._writer.join()
        try:
            self._write()
        except Exception as second:
            if error is None:
                raise
            error.add_note(f"MLflow could not record the last metrics of {self._training}: {second}")

    def metrics(self, step: int, values: dict[str, float]) -> None:
        """Receive the metrics of a step."""
        with self._lock:
            self._waiting.append((step, values))

    def alarm(self, name: str, step: int, text: str) -> None:
        """Show an alarm in the terminal and in the logs of the training and of the chain."""
        found = f"alarm {name} at step {step}: {text}"
        warn(found, self._training)
        run_log().warning(f"{self._training}: {found}")
        with run_page() as page:
            page.log(f"{self._training}: {found}")

    def _write_now_and_then(self) -> None:
        warned = False
        while not self._ended.wait(self._seconds):
            try:
                self._write()
            except Exception as error:  # noqa: BLE001 - tried again, and raised by the last write
                if not warned:
                    warn(f"MLflow cannot record metrics now ({error}); they are kept and tried again", self._training)
                warned = True

    def _write(self) -> None:
        with self._lock:
            steps, self._waiting = self._waiting, []
        try:
            self._run.log_steps(steps)
        except Exception:
            with self._lock:
                self._waiting = steps + self._waiting
            raise
