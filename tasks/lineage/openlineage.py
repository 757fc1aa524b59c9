"""OpenLineage events of each stage's run, to a file or endpoint: inputs and outputs, by digests and columns.

No row data is sent: datasets are named by digests, and only the project's own error sentences are included.
"""

import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from uuid import UUID

from schemas.artifact import ArtifactRecord
from schemas.config.workers import LineageConfig
from schemas.errors import InputError, Interrupted, TucanoError

if TYPE_CHECKING:
    from openlineage.client.event_v2 import InputDataset, OutputDataset, RunState
    from openlineage.client.transport import Transport

KEY_VARIABLE: Final = "OPENLINEAGE_API_KEY"
PRODUCER: Final = "urn:tucano2-commerce"
ENDPOINT: Final = "api/v1/lineage"
"""Path for addresses without one, as specified by OpenLineage."""
SECONDS_TO_ANSWER: Final = 2.0


@dataclass(frozen=True)
class LineageRun:
    """Run of a stage, as described by its events."""

    stage: str
    """The stage's name, used as the job."""
    run_id: str
    """MLflow's run of the stage: 32 hexadecimal digits, which are the run's UUID too."""
    pipeline_run: str
    """MLflow's run of the pipeline."""
    inputs: tuple[ArtifactRecord, ...]
    """Artifacts that the stage reads."""
    pipeline: str
    """The pipeline's name, used as the parent job."""


@cache
def open_emitter(config: LineageConfig, warn: Callable[[str], None]) -> "Emitter | None":
    """Return the process's emitter for the configured destination; None without one.

    Args:
        config: Destination and namespace of the events.
        warn: Called once if events cannot be delivered.

    Raises:
        InputError: The folder of the file cannot be created.
    """
    if config.openlineage is None:
        return None
    return Emitter(_open_transport(config.openlineage), config.namespace, config.openlineage, warn)


class Emitter:
    """Sender of events; after one fails, it and all later ones are dropped without failing the stage."""

    def __init__(self, transport: "Transport", namespace: str, address: str, warn: Callable[[str], None]) -> None:
        """Send by a transport; created by `open_emitter`."""
        self._transport = transport
        self._namespace = namespace
        self._address = address
        self._warn = warn
        self._is_lost = False
        # Trainings of several seeds report from threads.
        self._lock = threading.Lock()

    def started(self, run: LineageRun) -> None:
        """Report that a stage starts."""
        from openlineage.client.event_v2 import RunState

        self._emit(run, RunState.START)

    def completed(self, run: LineageRun, output: ArtifactRecord) -> None:
        """Report that a stage made an artifact."""
        from openlineage.client.event_v2 import OutputDataset, RunState

        made = OutputDataset(self._namespace, _name(output), facets=_facets(output))
        self._emit(run, RunState.COMPLETE, outputs=[made])

    def failed(self, run: LineageRun, error: BaseException) -> None:
        """Report that a stage failed or was interrupted."""
        from openlineage.client.event_v2 import RunState
        from openlineage.client.facet_v2 import error_message_run

        # Another error's text may quote a row.
        message = str(error) if isinstance(error, TucanoError) else type(error).__name__
        facet = error_message_run.ErrorMessageRunFacet(message=message, programmingLanguage="python")
        # Signals and Ctrl-C arrive as exceptions outside `Exception`.
        interrupted = isinstance(error, Interrupted) or not isinstance(error, Exception)
        state = RunState.ABORT if interrupted else RunState.FAIL
        self._emit(run, state, facets={"errorMessage": facet})

    def _emit(
        self,
        run: LineageRun,
        state: "RunState",
        *,
        outputs: "Iterable[OutputDataset]" = (),
        facets: dict[str, Any] | None = None,
    ) -> None:
        from openlineage.client.event_v2 import Job, Run, RunEvent
        from openlineage.client.facet_v2 import parent_run

        parent = parent_run.ParentRunFacet(
            run=parent_run.Run(str(UUID(run.pipeline_run))), job=parent_run.Job(self._namespace, run.pipeline)
        )
        event = RunEvent(
            eventTime=datetime.now(UTC).isoformat(),
            eventType=state,
            run=Run(str(UUID(run.run_id)), facets={"parent": parent, **(facets or {})}),
            job=Job(self._namespace, run.stage),
            inputs=[self._input(record) for record in run.inputs],
            outputs=list(outputs),
            producer=PRODUCER,
        )
        self._send(event)

    def _input(self, record: ArtifactRecord) -> "InputDataset":
        from openlineage.client.event_v2 import InputDataset

        return InputDataset(self._namespace, _name(record), facets=_facets(record))

    def _send(self, event: Any) -> None:
        from requests import RequestException

        with self._lock:
            if self._is_lost:
                return
            try:
                self._transport.emit(event)
            except (RequestException, RuntimeError, OSError) as error:
                # Each further one might wait as long.
                self._is_lost = True
                self._warn(
                    f"OpenLineage events cannot be delivered to {self._address} ({_reason(error)}), and this "
                    f"process sends no more of them; see that it can be written, set {KEY_VARIABLE} if it asks for a "
                    "key, or unset lineage.openlineage"
                )


def _open_transport(address: str) -> "Transport":
    from openlineage.client.event_v2 import set_producer
    from openlineage.client.transport.file import FileConfig, FileTransport
    from openlineage.client.transport.http import ApiKeyTokenProvider, HttpConfig, HttpTransport, TokenProvider

    set_producer(PRODUCER)
    parts = urlsplit(address)
    if parts.scheme in {"http", "https"}:
        key = os.environ.get(KEY_VARIABLE)
        return HttpTransport(
            HttpConfig(
                url=f"{parts.scheme}://{parts.netloc}",
                endpoint=parts._replace(scheme="", netloc="").geturl().lstrip("/") or ENDPOINT,
                timeout=SECONDS_TO_ANSWER,
                auth=ApiKeyTokenProvider({"api_key": key}) if key else TokenProvider({}),
                # An unreachable endpoint must delay a stage only this once.
                retry={"total": 0},
            )
        )
    file = Path(parts.path if parts.scheme == "file" else address).absolute()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the folder of the OpenLineage file {file} cannot be made ({error.strerror}); correct lineage.openlineage"
        ) from None
    return FileTransport(FileConfig(log_file_path=str(file), append=True))


def _name(record: ArtifactRecord) -> str:
    return f"{record.kind}/{record.sha256}"


def _facets(record: ArtifactRecord) -> dict[str, Any]:
    from openlineage.client.facet_v2 import dataset_version_dataset, schema_dataset

    facets: dict[str, Any] = {
        "version": dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=record.sha256)
    }
    if record.columns:
        field = schema_dataset.SchemaDatasetFacetFields
        tables = [
            field(name=file, type="table", fields=[field(name=name, type=kind) for name, kind in columns.items()])
            for file, columns in record.columns.items()
        ]
        facets["schema"] = schema_dataset.SchemaDatasetFacet(fields=tables)
    return facets


def _reason(error: Exception) -> str:
    """Return a short reason: a client's own text quotes addresses and objects."""
    from requests import ConnectionError as NotConnected
    from requests import HTTPError, Timeout

    if isinstance(error, HTTPError) and error.response is not None:
        return f"it answered {error.response.status_code}"
    if isinstance(error, Timeout):
        return f"no answer in {SECONDS_TO_ANSWER:g} seconds"
    if isinstance(error, NotConnected):
        return "nothing answers"
    cause = error.__cause__
    return str(cause.strerror) if isinstance(cause, OSError) else type(error).__name__
