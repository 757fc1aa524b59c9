"""Preparation of a chain's run while Prefect's server starts."""

import importlib
from typing import Final

from schemas.config.config import Config
from schemas.source import source_digest

READ_AHEAD: Final = (
    "tasks.synthesize.stage",
    "tasks.curate.stage",
    "tasks.audit.stage",
    "tasks.train.sft.warm_start",
    "flows.stages.evaluate",
    "flows.stages.promote",
)


def get_ready(config: Config) -> None:
    """Import the chain, read the code that its keys are made of, and open MLflow's store.

    Twelve seconds on two cores, mostly imports.

    Raises:
        InputError: The store cannot be opened or written.
    """
    importlib.import_module("flows.retrain")
    from flows.runtime.stores import open_recorder
    from flows.stages.train import entry_modules

    # Each module is read once per process: with these, nearly all that the stages' keys need.
    source_digest(*READ_AHEAD, *entry_modules(config))
    open_recorder(config)
