"""MLflow record of a run: one run for the pipeline, and a nested run for each stage."""

import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import islice
from numbers import Real
from pathlib import Path
from typing import Any, Final

from schemas.artifact import ArtifactKind, ArtifactRecord
from schemas.disk import scratch_folder
from schemas.errors import InputError, Interrupted, TucanoError
from schemas.source import REPOSITORY
from schemas.sqlite_file import InUse
from tasks.lineage.mlflow.client import ARTIFACT_TAG, REUSED_PREFIX, USER_VARIABLE, milliseconds_now, open_client
from tasks.lineage.mlflow.moved import STATE_TAG, require_own
from tasks.lineage.store.artifacts import RECORD_FILE

MODEL_KINDS: Final[frozenset[ArtifactKind]] = frozenset({"base", "policy"})
"""Artifacts with a logged model in MLflow."""
NOTE: Final = "mlflow.note.content"
"""Tag of the description of a run or an experiment, in Markdown."""
RETRAININGS: Final = "retrainings"
"""Name of the view of the experiment's runs by which retrainings are compared."""
_COLUMNS: Final = (
    *("attributes.`Duration`", "tags.`verdict`", "tags.`profile`"),
    *(f"metrics.`{name}`" for name in ("promoted", "overall.mean_difference", "ground_truth.mean_difference")),
)
EXPERIMENT_TAGS: Final[Mapping[str, str]] = {
    # What MLflow sets where somebody says that an experiment is of models, and not of an agent.
    "mlflow.experimentKind": "custom_model_development",
    NOTE: "A run here is a retraining or a monitoring, and a run in it a stage. Of retrainings compare `promoted`, "
    "`overall.mean_difference`, the tasks' `mean_difference` and `ground_truth.mean_difference`.",
    # As MLflow keeps a view that somebody shares; its table shows no metric otherwise.
    f"mlflow.sharedViewState.{RETRAININGS}": json.dumps({"selectedColumns": _COLUMNS}),
}
# MLflow's limits on the digest of a dataset, and on the metrics of one call.
DIGEST_CHARACTERS: Final = 36
METRICS_AT_ONCE: Final = 1000
PARAMETERS_AT_ONCE: Final = 100
ALONE_TAG: Final = "alone"
"""Tag of a pipeline's run: whether it holds the state folder's lock."""

_INPUTS_IN_TURNS: Final = threading.Lock()
"""MLflow looks for each dataset and then inserts it, which its store refuses to the second of two threads."""


class StageRun:
    """Open run of one stage; created by `Recorder.stage`."""

    def __init__(self, client: Any, run_id: str) -> None:
        """Log to an open run."""
        self._client, self.run_id = client, run_id

    def log_step(self, step: int, values: Mapping[str, float]) -> None:
        """Log the metrics of one step."""
        self.log_steps([(step, values)])

    def log_steps(self, steps: Iterable[tuple[int, Mapping[str, float]]]) -> None:
        """Log the metrics of many steps, in as few writes as MLflow allows."""
        from mlflow.entities import Metric

        now = milliseconds_now()
        metrics = (Metric(name, value, now, step) for step, values in steps for name, value in values.items())
        while batch := list(islice(metrics, METRICS_AT_ONCE)):
            self._client.log_batch(self.run_id, metrics=batch)

    def log_figures(self, figures: Mapping[str, Any]) -> None:
        """Log a stage's key figures: numbers as metrics, all else as tags."""
        numbers: dict[str, float] = {}
        texts: dict[str, str] = {}
        for name, value in figures.items():
            if isinstance(value, Real) and not isinstance(value, bool):
                numbers[name] = float(value)
            else:
                texts[name] = "; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        self.log_steps([(0, numbers)])
        self._client.log_batch(self.run_id, tags=_as_tags(texts))

    def log_file(self, path: Path) -> None:
        """Store a copy of a file with the run, for its page."""
        self._client.log_artifact(self.run_id, str(path))

    def log_output(self, record: ArtifactRecord, reports: Sequence[Path] = ()) -> None:
        """Log a stage's output: its record, its files for people, and its logged model, if any."""
        self._client.log_text(self.run_id, record.model_dump_json(indent=1), RECORD_FILE)
        for report in reports:
            self.log_file(report)
        tags = {"artifact_kind": record.kind, ARTIFACT_TAG: record.sha256}
        self._client.log_batch(self.run_id, tags=_as_tags(tags))
        if record.kind in MODEL_KINDS:
            from mlflow.entities import LoggedModelOutput

            model_id = log_model(self._client, self.run_id, record)
            self._client.log_outputs(self.run_id, [LoggedModelOutput(model_id, step=0)])


class Recorder:
    """Writer to one MLflow experiment."""

    def __init__(self, tracking_uri: str, artifact_root: Path | None, experiment: str, state: str = "") -> None:
        """Open MLflow's store, and create the experiment, with the folder of its runs' files, if new.

        Runs left by a killed process are ended only by a process with the same `state`, its state folder.
        """
        self._uri = tracking_uri
        self._state = state
        self._client = open_client(tracking_uri)
        self.experiment_id = self._open_experiment(experiment, artifact_root)
        """MLflow's id of the experiment, which the addresses of its pages have."""

    @contextmanager
    def pipeline(
        self, name: str, tags: Mapping[str, str], *, config: Mapping[str, Any] | None = None, alone: bool = True
    ) -> Iterator[str]:
        """Record a run of the whole pipeline during the block; yields the run's id.

        It ends as finished, as killed if interrupted or suspended, or as failed, with the reason in the tag `ended_by`.
        `end_abandoned` skips a run that does not hold the state folder's lock (`alone`).
        """
        run_id = self._start(name, {**tags, ALONE_TAG: str(alone)})
        with self._ended(run_id):
            parameters = iter(_as_parameters(config or {}))
            while batch := list(islice(parameters, PARAMETERS_AT_ONCE)):
                self._client.log_batch(run_id, params=batch)
            yield run_id

    @contextmanager
    def stage(
        self, pipeline_run: str, name: str, inputs: Mapping[str, ArtifactRecord], tags: Mapping[str, str]
    ) -> Iterator[StageRun]:
        """Record one stage during the block, as a run nested in the pipeline's."""
        from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID

        run_id = self._start(name, {**tags, "stage": name, MLFLOW_PARENT_RUN_ID: pipeline_run})
        with self._ended(run_id):
            self._log_inputs(run_id, inputs)
            yield StageRun(self._client, run_id)

    def tag(self, run_id: str, texts: Mapping[str, str]) -> None:
        """Add tags to a run."""
        self._client.log_batch(run_id, tags=_as_tags(texts))

    def conclude(self, pipeline_run: str, figures: Mapping[str, float], tags: Mapping[str, str], note: str) -> None:
        """Log the results of a pipeline's run, by which such runs are compared; said again, nothing changes."""
        StageRun(self._client, pipeline_run).log_steps([(0, figures)])
        self.tag(pipeline_run, {**tags, NOTE: note})

    def note_reuse(self, pipeline_run: str, stage: str, record: ArtifactRecord) -> None:
        """Record on the pipeline's run that a stage was skipped, and the artifact reused."""
        self._client.set_tag(pipeline_run, f"{REUSED_PREFIX}{stage}", record.sha256)

    def end_abandoned(self) -> None:
        """Mark runs of a killed holder of this state folder's lock as killed; called by the next holder."""
        from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID

        running = self._client.search_runs([self.experiment_id], "attributes.status = 'RUNNING'")
        beside = {run.info.run_id for run in running if run.data.tags.get(ALONE_TAG) == str(False)}
        for run in running:
            of_one_beside = not beside.isdisjoint({run.info.run_id, run.data.tags.get(MLFLOW_PARENT_RUN_ID)})
            if run.data.tags.get(STATE_TAG) == self._state and not of_one_beside:
                self._client.set_terminated(run.info.run_id, "KILLED")

    def _open_experiment(self, name: str, artifact_root: Path | None) -> str:
        known = self._client.get_experiment_by_name(name)
        if known is None:
            location = artifact_root.resolve().as_uri() if artifact_root else None
            return str(self._client.create_experiment(name, artifact_location=location, tags=dict(EXPERIMENT_TAGS)))
        if known.lifecycle_stage == "deleted":
            raise InputError(
                f"the MLflow experiment {name} was deleted; restore it with `mlflow experiments restore "
                f"--experiment-id {known.experiment_id}` and MLFLOW_TRACKING_URI={self._uri}"
            )
        if artifact_root is not None:
            require_own(known.artifact_location, artifact_root)
        return str(known.experiment_id)

    def _start(self, name: str, tags: Mapping[str, str]) -> str:
        own = {**origin_tags(), **tags, STATE_TAG: self._state}
        return str(self._client.create_run(self.experiment_id, run_name=name, tags=own).info.run_id)

    def _log_inputs(self, run_id: str, inputs: Mapping[str, ArtifactRecord]) -> None:
        """Log each artifact as a dataset, and logged models also as such."""
        from mlflow.entities import LoggedModelInput

        datasets = [_as_dataset(role, record) for role, record in inputs.items()]
        models = [
            LoggedModelInput(model)
            for record in inputs.values()
            if record.kind in MODEL_KINDS
            and (model := find_logged_model(self._client, self.experiment_id, record.sha256)) is not None
        ]
        with _INPUTS_IN_TURNS:
            self._client.log_inputs(run_id, datasets, models)

    @contextmanager
    def _ended(self, run_id: str) -> Iterator[None]:
        """End the run with the block."""
        try:
            yield
        except InUse:
            # Whoever holds the store may hold it for long; the next run marks this one as killed.
            raise
        except BaseException as error:
            self._end_early(run_id, error)
            raise
        self._client.set_terminated(run_id, "FINISHED")

    def _end_early(self, run_id: str, error: BaseException) -> None:
        from mlflow.exceptions import MlflowException

        # Signals and Ctrl-C arrive as exceptions outside `Exception`.
        interrupted = isinstance(error, Interrupted) or not isinstance(error, Exception)
        # Only the project's own sentences are stored: another error's text may quote a row. A suspension's is its
        # cause.
        reported = error if isinstance(error, TucanoError) else error.__cause__
        reason = str(reported) if isinstance(reported, TucanoError) else type(error).__name__
        try:
            self._client.set_tag(run_id, "ended_by", reason)
            self._client.set_terminated(run_id, "KILLED" if interrupted else "FAILED")
        except (MlflowException, TucanoError) as second:
            error.add_note(f"MLflow could not record the end of run {run_id}: {second}")


def _as_parameters(config: Mapping[str, Any], prefix: str = "") -> Iterator[Any]:
    """Yield the values of nested sections by dotted keys, such as `train.lora.rank`."""
    from mlflow.entities import Param

    for name, value in config.items():
        if isinstance(value, Mapping) and value:
            yield from _as_parameters(value, f"{prefix}{name}.")
        elif value is not None:
            yield Param(f"{prefix}{name}", str(value))


def _as_tags(texts: Mapping[str, str]) -> list[Any]:
    from mlflow.entities import RunTag

    return [RunTag(name, text) for name, text in texts.items()]


def _as_dataset(role: str, record: ArtifactRecord) -> Any:
    from mlflow.entities import Dataset, DatasetInput, InputTag
    from mlflow.utils.mlflow_tags import MLFLOW_DATASET_CONTEXT

    dataset = Dataset(
        name=record.kind,
        digest=record.sha256[:DIGEST_CHARACTERS],
        source_type="artifact",
        source=json.dumps({"uri": f"artifact://{record.kind}/{record.sha256}"}),
    )
    return DatasetInput(dataset, [InputTag(MLFLOW_DATASET_CONTEXT, role), InputTag("sha256", record.sha256)])


@cache
def origin_tags() -> Mapping[str, str]:
    """Return who started this process's runs, with what, and the commit of the code where there is a repository."""
    from mlflow.utils.git_utils import get_git_commit
    from mlflow.utils.mlflow_tags import MLFLOW_GIT_COMMIT, MLFLOW_SOURCE_NAME, MLFLOW_SOURCE_TYPE, MLFLOW_USER

    tags = {MLFLOW_SOURCE_NAME: "tucano", MLFLOW_SOURCE_TYPE: "LOCAL"}
    # An installed wheel may lie inside of another project's repository.
    if (REPOSITORY / ".git").exists() and (commit := get_git_commit(str(REPOSITORY))) is not None:
        tags[MLFLOW_GIT_COMMIT] = commit
    # No login name, which is a person's: only who the server is told anyway.
    if (user := os.environ.get(USER_VARIABLE)) is not None:
        tags[MLFLOW_USER] = user
    return tags


def find_logged_model(client: Any, experiment_id: str, sha256: str) -> str | None:
    """Return the id of an artifact's logged model in an experiment; None without one."""
    found = client.search_logged_models([experiment_id], filter_string=f"tags.{ARTIFACT_TAG} = '{sha256}'")
    # A model left incomplete by a kill is not ready; MLflow's search cannot filter by status name.
    return next((str(model.model_id) for model in found if model.status == "READY"), None)


def log_model(client: Any, run_id: str, record: ArtifactRecord) -> str:
    """Return the id of an artifact's logged model, created if new.

    Its weights stay in the artifact store; MLflow gets the record.
    """
    experiment_id = client.get_run(run_id).info.experiment_id
    known = find_logged_model(client, experiment_id, record.sha256)
    if known is not None:
        return known
    tags = {ARTIFACT_TAG: record.sha256}
    model = client.create_logged_model(experiment_id, record.kind, run_id, tags, model_type=record.kind)
    with scratch_folder() as folder:
        (folder / RECORD_FILE).write_text(record.model_dump_json(indent=1), encoding="utf-8")
        client.log_model_artifacts(model.model_id, str(folder))
    client.finalize_logged_model(model.model_id, "READY")
    return str(model.model_id)
