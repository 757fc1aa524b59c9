"""Pages of a running training: metrics in MLflow; alarms, preflight and machines in one artifact on the run's page."""

import threading
from collections.abc import Collection
from types import TracebackType
from typing import Final, Self
from uuid import UUID

from flows.runtime.console import warn
from flows.runtime.run_page import run_log, run_page, show_markdown
from tasks.lineage.mlflow.recorder import StageRun

SECONDS_BETWEEN_WRITES: Final = 5.0
TRAINING_ARTIFACT: Final = "training"


class TrainingArtifact:
    """One text about all trainings of a run, however many there are: each part under its training's name."""

    def __init__(self) -> None:
        """Begin without a text; the first part makes the artifact."""
        self._lock = threading.Lock()
        self._parts: dict[str, dict[str, str]] = {}
        self._shown: UUID | None = None

    def show(self, training: str, part: str, markdown: str) -> None:
        """Show a part of a training's text, in place of what it said before."""
        with self._lock:
            self._parts.setdefault(training, {})[part] = markdown
            text = "\n\n".join(
                f"## {training}: {part}\n\n{markdown}"
                for training, parts in sorted(self._parts.items())
                for part, markdown in sorted(parts.items())
            )
            self._shown = show_markdown(
                key=TRAINING_ARTIFACT,
                markdown=text,
                description="Alarms, machines and preflight of the trainings",
                instead_of=self._shown,
            )


class TrainingPage:
    """Receiver of a child's reports, from any thread, that never lets the child wait for MLflow.

    A thread of its own writes the metrics: all since the last write at once, and the rest when the block ends, however
    it ends. Where MLflow cannot be written, they are kept for the next write; only the last write fails the stage.
    """

    def __init__(
        self,
        run: StageRun,
        training: str,
        artifact: TrainingArtifact,
        *,
        always_zero: Collection[str] = (),
        seconds_between_writes: float = SECONDS_BETWEEN_WRITES,
    ) -> None:
        """Show a training."""
        self._run = run
        self._training = training
        self._artifact = artifact
        self._always_zero = tuple(always_zero)
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
        told = {name: value for name, value in values.items() if not name.startswith(self._always_zero)}
        with self._lock:
            self._waiting.append((step, told))

    def alarm(self, name: str, step: int, text: str) -> None:
        """Show an alarm in the terminal, in the logs and, with those before it, on the run's page."""
        with self._lock:
            self._alarms.append((name, step, text))
            alarms = list(self._alarms)
        found = f"alarm {name} at step {step}: {text}"
        warn(found, self._training)
        line = f"{self._training}: {found}"
        run_log().warning(line)
        with run_page() as page:
            page.log(line)
        self._artifact.show(self._training, "alarms", _as_markdown(alarms))

    def part(self, suffix: str, part: str, markdown: str) -> None:
        """Show a part of the training's text, or of one of its tasks' trainings by its suffix."""
        self._artifact.show(f"{self._training}{suffix}", part, markdown)

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


def _as_markdown(alarms: list[tuple[str, int, str]]) -> str:
    return "\n".join(f"- step {step}, **{name}**: {text}" for name, step, text in alarms)
