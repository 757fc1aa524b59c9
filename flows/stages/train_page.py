"""Progress of a running training: metrics in MLflow, alarms in the terminal, the log and on the run's page."""

import threading
from types import TracebackType
from typing import Final, Self

from flows.runtime.console import say
from flows.runtime.prefect_run import run_log, show_markdown
from tasks.lineage.mlflow.recorder import StageRun

SECONDS_BETWEEN_WRITES: Final = 5.0
ALARMS_ARTIFACT: Final = "training-alarms"


class TrainingPage:
    """Receiver of a child's reports, from any thread, that never lets the child wait for MLflow.

    A thread of its own writes the metrics: all since the last write at once, and the rest when the block ends, however
    it ends. Where MLflow cannot be written, they are kept for the next write; only the last write fails the stage.
    """

    def __init__(self, run: StageRun, training: str, seconds_between_writes: float = SECONDS_BETWEEN_WRITES) -> None:
        """Show a training.

        Args:
            run: The stage's run in MLflow.
            training: Its name for people.
            seconds_between_writes: Interval between writes to MLflow.
        """
        self._run = run
        self._training = training
        self._seconds = seconds_between_writes
        self._lock = threading.Lock()
        self._waiting: list[tuple[int, dict[str, float]]] = []
        self._alarms: list[tuple[str, int, str]] = []
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
        """Show an alarm in the terminal, in the run's log and, with those before it, on the run's page."""
        with self._lock:
            self._alarms.append((name, step, text))
            alarms = list(self._alarms)
        line = f"{self._training}: alarm {name} at step {step}: {text}"
        say(line)
        run_log().warning(line)
        show_markdown(
            key=ALARMS_ARTIFACT,
            markdown=_as_markdown(self._training, alarms),
            description="What is wrong in training?",
        )

    def _write_now_and_then(self) -> None:
        warned = False
        while not self._ended.wait(self._seconds):
            try:
                self._write()
            except Exception as error:  # noqa: BLE001 - tried again, and raised by the last write
                if not warned:
                    say(f"{self._training}: MLflow cannot record metrics now ({error}); they are kept and tried again")
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


def _as_markdown(training: str, alarms: list[tuple[str, int, str]]) -> str:
    rows = "\n".join(f"| {step} | {name} | {text} |" for name, step, text in alarms)
    return f"**{training}**\n\n| step | alarm | what is wrong |\n|---|---|---|\n{rows}\n"
