"""Stores of a state folder: its artifacts, and MLflow's runs and model registry."""

from flows.runtime.session import EXPERIMENT, artifacts_folder, mlflow_store
from schemas.config.config import Config
from schemas.errors import InputError
from tasks.lineage.mlflow.recorder import Recorder
from tasks.lineage.mlflow.registry import LocalRegistry, Registry, RegistryReader
from tasks.lineage.store.artifacts import ArtifactStore


def open_store(config: Config) -> ArtifactStore:
    """Open the artifact store of the state folder."""
    return ArtifactStore(artifacts_folder(config))


def existing_store(config: Config, consequence: str) -> ArtifactStore:
    """Open the artifact store of a state folder that has one.

    Args:
        config: The configuration.
        consequence: Clause of the message that says what follows if there is none.

    Raises:
        InputError: The state folder has no artifacts.
    """
    if not artifacts_folder(config).is_dir():
        raise InputError(
            f"the state folder {config.state.root} has no artifacts, so {consequence}; run `tucano retrain` first, or "
            "name another folder with --set state.root=FOLDER"
        )
    return open_store(config)


def open_recorder(config: Config) -> Recorder:
    """Open MLflow's store in the state folder."""
    return Recorder(*mlflow_store(config.state), EXPERIMENT, state=str(config.state.root.resolve()))


def read_registry(config: Config) -> RegistryReader:
    """Open the model registry of the state folder to read it; one in a SQLite file without MLflow."""
    address, local = mlflow_store(config.state)
    return Registry(address) if local is None else LocalRegistry(address)


def open_registry(config: Config) -> Registry:
    """Open the model registry of the state folder."""
    address, _ = mlflow_store(config.state)
    return Registry(address)
