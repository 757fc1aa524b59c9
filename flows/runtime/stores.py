"""Model registry of a state folder, in MLflow."""

from flows.runtime.session import mlflow_store
from schemas.config.config import Config
from tasks.lineage.mlflow.registry import Registry


def open_registry(config: Config) -> Registry:
    """Open the model registry of the state folder."""
    address, _ = mlflow_store(config.state)
    return Registry(address)
