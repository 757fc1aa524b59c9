"""What a run of the chain needs before its first stage, and can do while Prefect's server starts beside it."""

import importlib

from schemas.config import Config


def get_ready(config: Config) -> None:
    """Import the chain, and open MLflow's store: twelve seconds on two cores, most of them imports.

    Raises:
        InputError: The store cannot be opened or written.
    """
    importlib.import_module("flows.retrain")
    from flows.stage import open_recorder

    open_recorder(config)
