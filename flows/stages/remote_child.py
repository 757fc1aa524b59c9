"""Child process of a stage on another machine: share the inputs, run a deployment, fetch the output.

A request names folders of this machine. In transit each of its paths is replaced by the artifact, the output or the
work folder that it leads into, and on the other machine by that machine's own.
"""

import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal, cast

from prefect.runtime import flow_run
from pydantic import BaseModel, ConfigDict, ValidationError

from flows.runtime.console import say, warn
from flows.runtime.stores import open_store
from flows.stages.remote_run import RemoteRun, open_shared, run_remotely
from flows.stages.runner import Stage
from schemas.artifact import ArtifactKind, ArtifactRecord, Origin, Worker
from schemas.config.config import Config
from schemas.errors import InputError, TucanoError
from tasks.checkpoints.shared_artifacts import NotShared, SharedArtifacts
from tasks.policy.child import Metrics

ChildModule = Literal[
    "tasks.train.sft.warm_start", "tasks.audit.rollouts", "tasks.evaluate.answers.answer", "tasks.policy.merge_child"
]
"""Modules that may be run for other machines."""
OUTPUT: Final = "output"
WORK: Final = "work"
_PLACE: Final = frozenset({"place", "path"})


class RemoteChild(BaseModel):
    """Request to run a child process remotely."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    stage: str
    """The stage that it belongs to."""
    kind: ArtifactKind
    """Kind of the artifact that the stage makes."""
    module: ChildModule
    """The module to run."""
    request: dict[str, Any]
    """The module's request, with places instead of folders (`as_portable`)."""
    artifacts: tuple[str, ...]
    """The sha256 of each artifact that it reads, which is also the name of its place."""
    sources: tuple[str, ...]
    """The stage's entry modules."""
    code_version: str
    """Digest of their code; the other machine's must be equal."""
    config_digest: str
    """Digest of the configuration that the stage reads."""
    fresh: str | None = None
    """The run that asks for it to be made again; None: the output of an earlier equal request is used."""

    @property
    def name(self) -> str:
        """Its name, shared by the machines and Prefect's server."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    @property
    def note(self) -> str:
        """Name of the note with its result."""
        return f"inferred-{self.name}.json"


class ChildAnswer(BaseModel):
    """Result of a child process that was run remotely."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: str
    """The artifact of its output folder."""
    worker: Worker
    """The worker that ran it."""
    metrics: tuple[tuple[int, dict[str, float]], ...]
    """Its metrics, by step."""


def run_child_remotely(
    config: Config,
    deployment: str,
    stage: Stage,
    module: str,
    request: BaseModel,
    folder: Path,
    reads: Sequence[ArtifactRecord],
    output: Path,
    *,
    metrics: Metrics | None,
    fresh: bool,
) -> Origin:
    """Have a deployment run a stage's child process, or reuse its result of the same request.

    Arguments as of `flows.stages.stage_child.run_stage_child`; the deployment as FLOW/DEPLOYMENT.

    Raises:
        InputError: There is no such deployment.
        Interrupted: Prefect's server went away.
        TucanoError: The child failed.
    """
    shared, store = open_shared(config), open_store(config)
    paths = {record.sha256: store.path(record.sha256) for record in reads}
    child = RemoteChild(
        stage=stage.name,
        kind=stage.kind,
        module=cast("ChildModule", module),
        request=as_portable(request.model_dump(), {**paths, OUTPUT: output, WORK: folder}),
        artifacts=tuple(paths),
        sources=stage.sources,
        code_version=stage.code_version,
        config_digest=stage.config_digest,
        fresh=str(flow_run.root_flow_run_id) if fresh else None,
    )
    answer = _fetch_answer(child, shared, folder, output)
    if answer is None:
        for record in reads:
            shared.push(record, paths[record.sha256])
        run = RemoteRun(
            what="inference",
            stage=stage.name,
            deployment=deployment,
            name=child.name,
            when_repeated=f"{stage.name} is made again",
        )
        run_remotely(config, run, {"child": child.model_dump(mode="json")})
        answer = _fetch_answer(child, shared, folder, output)
        if answer is None:
            raise TucanoError(
                f"the inference {child.name[:12]} is completed, and its output is not in {config.state.artifacts}; see "
                "that both machines use the same place, and run the same command again"
            )
    for step, values in answer.metrics if metrics is not None else ():
        cast("Metrics", metrics)(step, values)
    say(f"{stage.name}: made by {deployment} on {answer.worker.machine} ({answer.worker.device or 'no device'})")
    return Origin(worker=answer.worker)


def read_answer(child: RemoteChild, shared: SharedArtifacts) -> ChildAnswer | None:
    """Return a child process's result; None where it is still to be run, or its note cannot be read."""
    note = shared.note(child.note)
    if note is None:
        return None
    try:
        return ChildAnswer.model_validate_json(note)
    except ValidationError:
        warn(f"what was left of the inference {child.name[:12]} cannot be read; it is made again", child.stage)
        return None


def _fetch_answer(child: RemoteChild, shared: SharedArtifacts, folder: Path, output: Path) -> ChildAnswer | None:
    """Copy a child's output, where it exists, into the folder that it is for."""
    answer = read_answer(child, shared)
    if answer is None:
        return None
    # On the output's own disk, so that its files are moved, not copied.
    fetched = folder / "fetched"
    shutil.rmtree(fetched, ignore_errors=True)
    fetched.mkdir(parents=True)
    try:
        shared.pull(answer.sha256, fetched)
    except NotShared as error:
        warn(f"{error}; it is made again", child.stage)
        return None
    shutil.copytree(fetched, output, copy_function=os.replace, dirs_exist_ok=True)
    shutil.rmtree(fetched)
    return answer


def as_portable(values: Any, places: Mapping[str, Path]) -> Any:
    """Return a request's values with each path into a place as `{"place": NAME, "path": RELATIVE}`.

    Args:
        values: The values; paths are `Path`s.
        places: Folders by name; names are the same on every machine, and no folder is inside another.
    """
    if isinstance(values, dict):
        return {key: as_portable(value, places) for key, value in values.items()}
    if isinstance(values, list | tuple):
        return [as_portable(value, places) for value in values]
    if not isinstance(values, Path):
        return values
    for name, folder in places.items():
        if values.is_relative_to(folder):
            return {"place": name, "path": values.relative_to(folder).as_posix()}
    return str(values)


def as_local(values: Any, places: Mapping[str, Path]) -> Any:
    """Return a request's values with this machine's paths: the inverse of `as_portable`.

    Raises:
        InputError: A place is unknown, or a path leads out of it.
    """
    if isinstance(values, list):
        return [as_local(value, places) for value in values]
    if not isinstance(values, dict):
        return values
    if values.keys() != _PLACE:
        return {key: as_local(value, places) for key, value in values.items()}
    path = PurePosixPath(values["path"])
    if values["place"] not in places or path.is_absolute() or ".." in path.parts:
        raise InputError(
            f"the request names {values['path']!r} of {values['place']!r}, which is no folder of its own; give "
            "both machines the same version, and run the same command again"
        )
    return str(places[values["place"]] / path)
