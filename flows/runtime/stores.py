"""Stores of a state folder, a shop's own files and logs: opened by the configuration."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from flows.runtime.session import EXPERIMENT, artifacts_folder, mlflow_store
from schemas.config.config import Config, SynthesizeConfig
from schemas.errors import InputError
from tasks.lineage.mlflow.recorder import Recorder
from tasks.lineage.mlflow.registry import Registry
from tasks.lineage.store.artifacts import ArtifactStore

if TYPE_CHECKING:
    from tasks.synthesize.own.opened import OwnFiles


def open_store(config: Config) -> ArtifactStore:
    """Open the artifact store of the state folder."""
    return ArtifactStore(artifacts_folder(config))


def existing_store(config: Config, consequence: str) -> ArtifactStore:
    """Open the artifact store of a state folder that has one."""
    if not artifacts_folder(config).is_dir():
        raise InputError(
            f"the state folder {config.state.root} has no artifacts, so {consequence}; run `tucano retrain` first, or "
            "name another folder with --set state.root=FOLDER"
        )
    return open_store(config)


def open_recorder(config: Config) -> Recorder:
    """Open MLflow's store in the state folder."""
    return Recorder(*mlflow_store(config.state), EXPERIMENT, state=str(config.state.root.resolve()))


def open_registry(config: Config) -> Registry:
    """Open the model registry of the state folder; one in a SQLite file is read without MLflow."""
    address, _ = mlflow_store(config.state)
    return Registry(address)


def served_logs(config: Config) -> Path:
    """Return the folder of the state folder with the gateway's logs."""
    return config.state.root / "logs"


def logs_to_monitor(config: Config, given: Path | None) -> Path:
    """Return the file or folder of the logs."""
    named = given or config.monitor.logs or served_logs(config)
    if named == served_logs(config) and not named.is_dir():
        raise InputError(
            f"no logs are given, and `tucano serve` has written none into {named}; name a file or folder of them, or "
            "add --set monitor.logs=PATH"
        )
    return named


def own_files(config: SynthesizeConfig, state: Path) -> "OwnFiles | None":
    """Return the files of `synthesize.files`; None where another source is set."""
    if config.files is None:
        return None
    from tasks.synthesize.own.identities import open_key  # noqa: PLC0415

    return _opened(config.files, partial(open_key, state))


def refusal_of(column_map: Path) -> str | None:
    """Return why a run would refuse the files of a column map, in its own sentence; None where it would not."""
    from tasks.synthesize.own.identities import KEY_BYTES  # noqa: PLC0415
    from tasks.synthesize.stage import read_all  # noqa: PLC0415

    try:
        # A key of its own, so that to look at files leaves none behind.
        read_all(_opened(column_map, partial(os.urandom, KEY_BYTES)))
    except InputError as error:
        return str(error)
    return None


def _opened(column_map: Path, key: Callable[[], bytes]) -> "OwnFiles":
    # All rewards and patterns, which most runs of this command do without.
    from tasks.commerce.registry import TASKS  # noqa: PLC0415
    from tasks.synthesize.own.opened import open_own_files  # noqa: PLC0415

    return open_own_files(column_map, key, {name: task.inputs for name, task in TASKS.items()})
