"""How every stage runs: cached by its inputs, recorded in MLflow, its output an immutable artifact."""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from prefect import task
from prefect.artifacts import create_progress_artifact, create_table_artifact, update_progress_artifact
from prefect.cache_policies import CacheKeyFnPolicy
from prefect.logging import get_run_logger
from prefect.runtime import flow_run

from flows.console import say, stage_progress
from flows.pages import linked_to_mlflow
from flows.session import EXPERIMENT, artifacts_folder, mlflow_store
from schemas.artifact import ArtifactKind, ArtifactRecord, Stretches
from schemas.config import Config
from schemas.progress import Progress
from tasks.lineage.artifacts import ArtifactDamaged, ArtifactStore
from tasks.lineage.openlineage import LineageRun, open_emitter
from tasks.lineage.recorder import Recorder, StageRun
from tasks.lineage.source import source_digest, source_files

Work = Callable[[Path, Progress, StageRun], Stretches | None]
Summary = Callable[[Path], Mapping[str, Any]]

PERCENT_BETWEEN_UPDATES = 5.0
WORK_SECONDS = "work_seconds"
"""MLflow's metric of how long a stage's own work took; what a run takes besides is orchestration."""
FRESH_FOLDER = "fresh"
"""Of the state: which stages a run has made anew, for that run when it is interrupted and goes on."""


@dataclass(frozen=True)
class Stage:
    """One stage of the pipeline: what it is, what it depends on, and how it makes its artifact."""

    name: str
    kind: ArtifactKind
    sources: tuple[str, ...]
    """The house's packages and data folders whose bytes decide what the stage makes."""
    config_digest: str
    """Digest of the configuration that the stage reads, the seed included."""
    inputs: Mapping[str, ArtifactRecord]
    work: Work
    """Writes the artifact into the empty folder it is given; returns the stretches of training that made it, if any."""
    summary: Summary
    """Reads the artifact's key figures for Prefect's page and the terminal."""
    reports: tuple[str, ...] = ()
    """Files of the artifact that MLflow shows with the run."""
    permits: Mapping[str, ArtifactRecord] = field(default_factory=dict)
    """Artifacts that let the stage start, or that its other inputs come from: recorded as inputs, but in no key, for
    they decide nothing of what it makes."""
    identity: str | None = None
    """What the stage is called in its key, where the same one goes by several names; its name where not set."""
    pipeline: str = "retrain"
    """The pipeline that it is a stage of, as catalogues of lineage know it."""

    @property
    def code_version(self) -> str:
        """Digest of the source that the stage runs."""
        return source_digest(*self.sources)

    @property
    def key(self) -> str:
        """Digest of everything that decides the artifact: equal keys, equal artifacts."""
        return stage_key(self.identity or self.name, self.sources, self.config_digest, self.inputs)


@dataclass(frozen=True)
class StageResult:
    """What a stage gave: its artifact, and whether it was made now or earlier."""

    record: ArtifactRecord
    path: Path
    """The artifact's folder."""
    seconds: float
    reused: bool


def stage_key(identity: str, sources: tuple[str, ...], config_digest: str, inputs: Mapping[str, ArtifactRecord]) -> str:
    """Return a stage's key, for a work that must know it: the arguments are the stage's fields."""
    parts = [identity, source_digest(*sources), config_digest]
    parts += [f"{role}={record.sha256}" for role, record in sorted(inputs.items())]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def config_digest(*parts: Any) -> str:
    """Return the digest of JSON-like values that a stage reads."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def open_store(config: Config) -> ArtifactStore:
    """Open the artifact store of the state folder."""
    return ArtifactStore(artifacts_folder(config))


def open_recorder(config: Config) -> Recorder:
    """Open MLflow's store in the state folder."""
    return Recorder(*mlflow_store(config.state), EXPERIMENT, state=str(config.state.root.resolve()))


def _key(_: Any, parameters: dict[str, Any]) -> str:
    return str(parameters["key"])


@task(
    cache_policy=CacheKeyFnPolicy(cache_key_fn=_key),
    persist_result=True,
    result_serializer="json",
)
def _produce(key: str, stage: Stage, config: Config, pipeline_run: str) -> dict[str, str]:  # noqa: ARG001 - the cache's key
    store = open_store(config)
    inputs = {**stage.inputs, **stage.permits}
    with (
        store.draft() as draft,
        open_recorder(config).stage(pipeline_run, stage.name, inputs, _tags(stage)) as mlflow_run,
        _told_to_catalogues(
            config, LineageRun(stage.name, mlflow_run.run_id, pipeline_run, tuple(inputs.values()), stage.pipeline)
        ) as made,
        _watched(stage.name) as progress,
    ):
        began = time.monotonic()
        stretches = stage.work(draft, progress, mlflow_run)
        mlflow_run.log_figures({WORK_SECONDS: time.monotonic() - began})
        record = store.commit(
            draft,
            kind=stage.kind,
            stage=stage.name,
            code_version=stage.code_version,
            config_digest=stage.config_digest,
            inputs={role: record.sha256 for role, record in inputs.items()},
            prefect_run_id=flow_run.get_id(),
            mlflow_run_id=mlflow_run.run_id,
            sources=source_files(*stage.sources),
            config=config.model_dump(mode="json", exclude={"state"}),
            stretches=stretches,
        )
        path = store.path(record.sha256)
        mlflow_run.log_output(record, [path / name for name in stage.reports])
        mlflow_run.log_figures(stage.summary(path))
        made.append(record)
    return {"uri": path.as_uri(), "sha256": record.sha256}


def _tags(stage: Stage) -> dict[str, str]:
    return {"code_version": stage.code_version, "config_digest": stage.config_digest, "stage_key": stage.key}


@contextmanager
def _told_to_catalogues(config: Config, run: LineageRun) -> Iterator[list[ArtifactRecord]]:
    """Tell of a stage by OpenLineage, where the configuration says to whom; what it made is put into the list."""
    made: list[ArtifactRecord] = []
    emitter = open_emitter(config.lineage, say)
    if emitter is None:
        yield made
        return
    emitter.started(run)
    try:
        yield made
    except BaseException as error:
        emitter.failed(run, error)
        raise
    emitter.completed(run, *made)


@contextmanager
def _watched(name: str) -> Iterator[Progress]:
    """Show progress in the terminal and on the run's page."""
    page = cast("UUID", create_progress_artifact(0.0, key=f"{name}-progress", description=f"{name}: starting"))
    shown = 0.0

    with stage_progress(name) as terminal:

        def report(done: int, total: int, text: str) -> None:
            nonlocal shown
            terminal(done, total, text)
            percent = 100.0 * done / total if total else 0.0
            if percent < shown:
                # Another part of the work, which counts anew: the preflight's checks, then the steps.
                shown = 0.0
            if percent - shown >= PERCENT_BETWEEN_UPDATES or (done == total and percent > shown):
                shown = percent
                update_progress_artifact(page, percent, description=f"{name}: {done}/{total} {text}")

        yield report
    if shown < 100.0:
        update_progress_artifact(page, 100.0, description=f"{name}: done")


def run_stage(stage: Stage, config: Config, pipeline_run: str, *, fresh: bool) -> StageResult:
    """Make a stage's artifact, or take the one that the same inputs made before.

    Args:
        stage: What to make.
        config: The run's configuration.
        pipeline_run: MLflow's run of the whole pipeline.
        fresh: Make it again even where it exists, unless this run did so before it was interrupted.

    Raises:
        TucanoError: The stage failed in a way that its user can mend.
    """
    started = time.monotonic()
    named = _produce.with_options(name=stage.name, task_run_name=stage.name)
    # Only where it is asked for: the run's identity is a request to Prefect's server.
    made_anew = config.state.root / FRESH_FOLDER / str(flow_run.root_flow_run_id) / stage.name if fresh else None
    anew = made_anew is not None and not made_anew.exists()
    state = named.with_options(refresh_cache=anew)(stage.key, stage, config, pipeline_run, return_state=True)
    reference: dict[str, str] = state.result()
    reused = state.name == "Cached"
    if reused:
        reused = _is_whole(reference["sha256"], config)
        if not reused:
            reference = named.with_options(refresh_cache=True)(stage.key, stage, config, pipeline_run)
    if made_anew is not None:
        made_anew.parent.mkdir(parents=True, exist_ok=True)
        made_anew.touch()
    store = open_store(config)
    record = store.record(reference["sha256"])
    result = StageResult(record, store.path(record.sha256), time.monotonic() - started, reused)
    _announce(stage, result, config, pipeline_run)
    return result


def _is_whole(sha256: str, config: Config) -> bool:
    try:
        open_store(config).verify(sha256)
    except ArtifactDamaged as error:
        say(f"{error}; making it again")
        return False
    return True


def _announce(stage: Stage, result: StageResult, config: Config, pipeline_run: str) -> None:
    record = result.record
    figures = dict(stage.summary(result.path))
    if result.reused:
        made = f"{record.created_at:%Y-%m-%d %H:%M}"
        artifact = f"{record.kind} {record.sha256[:12]} of {made}"
        text = f"{stage.name}: skipped, {artifact} has the same code, configuration and inputs"
        open_recorder(config).note_reuse(pipeline_run, stage.name, record)
    else:
        text = f"{stage.name}: {record.kind} {record.sha256[:12]} in {result.seconds:.1f} s"
    say(text)
    get_run_logger().info(text)
    create_table_artifact(
        key=f"{stage.name}-figures",
        table=[{"figure": name, "value": _shown(value)} for name, value in figures.items()],
        description=linked_to_mlflow(f"{stage.name}: {record.kind} {record.sha256[:12]}", record, config),
    )


def _shown(value: object) -> str:
    """Write a figure as a person reads it."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple):
        return "; ".join(map(str, value))
    return "none" if value is None else str(value)
