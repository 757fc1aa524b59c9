"""Prompts of a served model's logs that a run learns from: the same ones until it came to its end.

A gateway logs on while a model is trained. A run that resumed with what was logged meanwhile would start from the
beginning, so its prompts are kept in the state folder, for their owner alone, as the logs are.
"""

import time
from pathlib import Path
from typing import Final

from prefect.runtime import flow_run

from flows.runtime.console import warn
from flows.stages.runner import config_digest
from schemas.config.config import Config
from tasks.synthesize.served_prompts import write_served_prompts

FOLDER: Final = "served-prompts"
"""Folder of the state folder."""
SECONDS_KEPT: Final = 7 * 24 * 3600
"""Time after its last use for which a run's prompts are kept; a run that is resumed later reads the logs again."""


def served_prompts(config: Config, *, fresh: bool) -> Path | None:
    """Return the table of the prompts of `synthesize.logs`; None where no logs are configured.

    Args:
        config: The run's configuration.
        fresh: Whether this run makes everything again, whatever an unfinished one began with.

    Raises:
        InputError: The logs cannot be read.
    """
    synthesize = config.synthesize
    if synthesize.logs is None:
        return None
    _remove_expired(config)
    name = f"{_name(config)}-{flow_run.root_flow_run_id}" if fresh else _name(config)
    table = config.state.root / FOLDER / f"{name}.parquet"
    if table.is_file():
        table.touch()
        return table
    if not synthesize.logs.exists():
        warn(f"nothing is logged in {synthesize.logs} yet", "synthesize")
    table.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = table.with_suffix(".draft")
    write_served_prompts(synthesize.logs, synthesize.counts, draft)
    draft.replace(table)
    return table


def release_served_prompts(config: Config) -> None:
    """Remove the prompts of a run that came to its end: the next one reads the logs again."""
    for table in (config.state.root / FOLDER).glob(f"{_name(config)}*.parquet"):
        table.unlink(missing_ok=True)


def _name(config: Config) -> str:
    return config_digest(config.synthesize.model_dump(mode="json"))


def _remove_expired(config: Config) -> None:
    before = time.time() - SECONDS_KEPT
    for table in (config.state.root / FOLDER).glob("*.parquet"):
        if table.stat().st_mtime < before:
            table.unlink(missing_ok=True)
