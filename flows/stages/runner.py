"""Execution of a stage: cached by its inputs, recorded in MLflow, its output an immutable artifact."""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from prefect import task
from prefect.cache_policies import CacheKeyFnPolicy
from prefect.filesystems import LocalFileSystem
from prefect.results import ResultStore
from prefect.runtime import flow_run
from prefect.serializers import JSONSerializer
from prefect.settings import PREFECT_LOCAL_STORAGE_PATH
from pydantic import BaseModel

from flows.runtime.console import say, stage_progress, warn
from flows.runtime.runs import is_recorded, log
from flows.runtime.session import BYTES_FOR_A_STAGE, open_recorder, open_registry, open_store, prove_space, work_folder
from flows.runtime.signals import refuse_if_interrupted
from flows.stages.child_pool import ChildPool, run_one, this_worker
from schemas.artifact import ArtifactKind, ArtifactRecord, Origin
from schemas.config.config import Config
from schemas.errors import InputError
from schemas.progress import Progress
from schemas.source import source_digest, source_files
from schemas.sqlite_file import InUse
from tasks.lineage.mlflow.recorder import Recorder, StageRun
from tasks.lineage.mlflow.registry import Registry
from tasks.lineage.store.artifacts import ArtifactDamaged, ArtifactStore
from tasks.policy.child import Metrics

Work = Callable[[Path, Progress, StageRun], Origin | None]
Summary = Callable[[Path], Mapping[str, Any]]
Records = Mapping[str, ArtifactRecord]  # By role.
Results = Mapping[str, "StageResult"]
Policies = Mapping[int, "StageResult"]  # By training seed.

WORK_SECONDS: Final = "work_seconds"
"""MLflow's metric of the time of a stage's own work; the rest of a run is orchestration."""
LINES_OF_A_STAGE: Final = 20
"""Most lines of a stage's progress in the run's log."""
FRESH_FOLDER: Final = "fresh"
"""Folder of the state that lists the stages a run has made again, for that run when it resumes."""
_ONLY_REUSE: Final = ContextVar("only_reuse", default=False)


@dataclass(frozen=True)
class Session:
    """Configuration, stores and children that every stage of a run is given."""

    config: Config
    run: str = ""
    """MLflow's run of the chain, of which the stages are parts; empty where none records it."""
    fresh: str | None = None
    """The run that makes all again, also once it resumes; None: what an earlier run made is reused."""
    pool: ChildPool | None = None
    """Runs the children of stages that are made at once; None: one child runs at a time."""
    only: str | None = None
    """Key of the stage that another machine asks for; None: any stage may be run."""

    @property
    def store(self) -> ArtifactStore:
        """The artifacts of the state folder."""
        return open_store(self.config)

    @property
    def recorder(self) -> Recorder:
        """MLflow's store of runs; to open it proves that it can be written."""
        return open_recorder(self.config)

    @property
    def registry(self) -> Registry:
        """The registered versions, to be read."""
        return open_registry(self.config)

    def folder(self, name: str) -> Path:
        """Return the folder in which a stage's child works."""
        return work_folder(self.config, name)

    def run_child(
        self, stage: "Stage", request: BaseModel, folder: Path, progress: Progress, metrics: Metrics | None = None
    ) -> Origin:
        """Run the child process of a stage's first entry module, and return its worker."""
        how = {"interpreter": self.config.train.interpreter, "progress": progress, "metrics": metrics}
        device = run_one(self.pool, stage.sources[0], request, folder, **how)
        return Origin(worker=this_worker(device, self.config.train.preemption.notice_url))

    def result(self, record: ArtifactRecord) -> "StageResult":
        """Return the result of a stage that made an artifact before."""
        return StageResult(record, self.store.path(record.sha256), 0.0, reused=True)


class WorkDue(Exception):
    """Something is not there yet, and nothing may be made now."""


@contextmanager
def only_reuse() -> Iterator[None]:
    """Make nothing during the block: what is not there yet ends it."""
    token = _ONLY_REUSE.set(True)
    try:
        yield
    finally:
        _ONLY_REUSE.reset(token)


def begin_work(name: str) -> None:
    """Refuse work inside `only_reuse`; call it before what costs time or changes anything."""
    if _ONLY_REUSE.get():
        raise WorkDue(name)


@dataclass(frozen=True)
class Stage:
    """One stage of the pipeline: its name, its inputs, and the function that makes its artifact."""

    name: str
    kind: ArtifactKind
    sources: tuple[str, ...]
    """Entry modules of the code that makes the artifact; they and all their imports are in its key."""
    config_digest: str
    """Digest of the configuration that the stage reads, including the seed."""
    inputs: Records
    work: Work
    """Write the artifact into the empty folder; return the worker of the weights, where there was one."""
    summary: Summary
    reports: tuple[str, ...] = ()
    order_only_inputs: Records = field(default_factory=dict)
    """Artifacts that allow the start, or that other inputs come from: recorded as inputs, but in no key, for they
    decide nothing."""
    cache_name: str | None = None
    """The stage's name in its key, where the same work has several names; its name where not set."""
    elsewhere: Callable[[], ArtifactRecord] | None = None
    """Has another machine do the work, and returns the artifact once it is in this machine's store, too."""

    @property
    def code_version(self) -> str:
        """Digest of the source that the stage runs."""
        return source_digest(*self.sources)

    @property
    def key(self) -> str:
        """Digest of everything that decides the artifact: equal keys mean equal artifacts."""
        return stage_key(self.cache_name or self.name, self.sources, self.config_digest, self.inputs)


@dataclass(frozen=True)
class StageResult:
    """A stage's artifact, and whether it was made now or reused."""

    record: ArtifactRecord
    path: Path
    seconds: float
    reused: bool


def stage_key(cache_name: str, sources: tuple[str, ...], config_digest: str, inputs: Records) -> str:
    """Return a stage's key, for work that must know it; the arguments are the stage's fields."""
    parts = [cache_name, source_digest(*sources), config_digest]
    parts += [f"{role}={record.sha256}" for role, record in sorted(inputs.items())]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def config_digest(*parts: Any) -> str:
    """Return the digest of JSON-like values that a stage reads."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


@task(
    cache_policy=CacheKeyFnPolicy(cache_key_fn=lambda _, parameters: str(parameters["key"])),
    persist_result=True,
    result_serializer="json",
)
def _produce(key: str, stage: Stage, session: Session) -> dict[str, str]:
    prove_space(session.config.state.root, BYTES_FOR_A_STAGE, f"the stage {stage.name}")
    if stage.elsewhere is not None:
        made = stage.elsewhere()
        if session.run:
            # Its stage is noted on the run that first requested it, which may have been another.
            session.recorder.note_reuse(session.run, stage.name, made)
        return {"sha256": made.sha256}
    store, tags = session.store, {"code_version": stage.code_version, "config_digest": stage.config_digest}
    inputs = {**stage.inputs, **stage.order_only_inputs}
    record = None
    try:
        with (
            store.draft() as draft,
            session.recorder.stage(session.run, stage.name, inputs, {**tags, "stage_key": key}) as mlflow_run,
            watched(stage.name) as progress,
        ):
            began = time.monotonic()
            origin = stage.work(draft, progress, mlflow_run) or Origin()
            # A signal in the middle of a query of the sandbox gives a wrong answer, and no exception.
            refuse_if_interrupted()
            seconds = time.monotonic() - began
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
                config=session.config.model_dump(mode="json", exclude={"state"}),
                segments=origin.segments,
                worker=origin.worker,
            )
            mlflow_run.log_figures({WORK_SECONDS: seconds})
            path = store.path(record.sha256)
            mlflow_run.log_output(record, [path / name for name in stage.reports])
            mlflow_run.log_figures(stage.summary(path))
    except InUse:
        if record is None:
            raise
        # The next stage waits for the store again, and may end the run; what was made here is not made twice.
        warn("another process holds MLflow's store, so the stage's page there stays without its results", stage.name)
    return {"sha256": record.sha256}


@contextmanager
def watched(name: str) -> Iterator[Progress]:
    """Show a stage's progress in the terminal and, more rarely, in the run's log."""
    logged = 0
    with stage_progress(name) as terminal:

        def report(done: int, total: int, text: str) -> None:
            nonlocal logged
            terminal(done, total, text)
            # It falls where another part of the work has a count of its own: first the preflight's checks, then steps.
            share = LINES_OF_A_STAGE * done // total if total else 0
            if share not in {0, logged}:
                log(f"{name}: {done}/{total} {text}")
            logged = share

        log(f"{name}: begins")
        yield report


def run_stage(stage: Stage, session: Session, *, again: bool = False) -> StageResult:
    """Make a stage's artifact, or reuse the one of equal inputs."""
    refuse_if_interrupted()
    if session.only not in {None, stage.key}:
        raise InputError(
            f"this worker would not make the {stage.name} that is asked for: its code is another than that of the run "
            "which waits for it; give both machines the same version, and run that one again"
        )
    started = time.monotonic()
    if is_recorded():
        named = _produce.with_options(name=stage.name, task_run_name=stage.name)
        mark = session.config.state.root / FRESH_FOLDER / session.fresh / stage.name if session.fresh else None
        again = again or (mark is not None and not mark.exists())
        state = named.with_options(refresh_cache=again)(stage.key, stage, session, return_state=True)
        reference, reused = state.result(), state.name == "Cached"
        if reused and not _is_whole(reference["sha256"], session.store):
            reference, reused = named.with_options(refresh_cache=True)(stage.key, stage, session), False
        if mark is not None:
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()
    else:
        reference, reused = _unrecorded(stage, session, again=again)
    record, path = session.store.record(reference["sha256"]), session.store.path(reference["sha256"])
    result = StageResult(record, path, time.monotonic() - started, reused)
    where = "" if stage.elsewhere is None else f" on {record.machine}"
    artifact, how = f"{record.kind} {record.sha256[:12]}", "has the same code, configuration and inputs"
    text = f"{stage.name}: {artifact} in {result.seconds:.1f} s{where}"
    if reused:
        text = f"{stage.name}: skipped, {artifact} of {record.created_at:%Y-%m-%d %H:%M} {how}"
        if session.run:
            session.recorder.note_reuse(session.run, stage.name, record)
    say(text)
    log(text)
    return result


def _unrecorded(stage: Stage, session: Session, *, again: bool) -> tuple[dict[str, str], bool]:
    """Return a reference to the artifact, and whether it was there, by Prefect's own cache and without a run."""
    folder = LocalFileSystem(basepath=str(PREFECT_LOCAL_STORAGE_PATH.value()))
    cache = ResultStore(result_storage=folder, serializer=JSONSerializer())
    if not (again or session.fresh) and cache.exists(stage.key):
        known: dict[str, str] = cache.read(stage.key).result
        if _is_whole(known["sha256"], session.store):
            return known, True
    begin_work(stage.name)
    reference = _produce.fn(stage.key, stage, session)
    cache.write(reference, key=stage.key)
    return reference, False


def _is_whole(sha256: str, store: ArtifactStore) -> bool:
    try:
        store.verify(sha256)
    except ArtifactDamaged as error:
        warn(f"{error}; making it again")
        return False
    return True
