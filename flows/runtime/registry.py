"""MLflow's registry of a state folder."""

from flows.session import mlflow_store
from schemas.config import Config
from tasks.lineage.registry import Registry


def open_registry(config: Config) -> Registry:
    """Open the model registry of the state folder."""
    address, _ = mlflow_store(config.state)
    return Registry(address)
