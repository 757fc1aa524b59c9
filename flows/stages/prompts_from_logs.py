"""Prompts of a served model's logs that a run learns from: the same ones until it came to its end.

A gateway logs on while a model is trained. A run that resumed with what was logged meanwhile would begin anew, so what
it began with is kept in the state folder.
"""

import shutil
import time
from pathlib import Path
from typing import Final

from flows.stages.runner import config_digest
from schemas.config.config import Config
from tasks.synthesize.served_prompts import write_served_prompts

FOLDER: Final = "served-prompts"
"""Folder of the state folder."""
SECONDS_KEPT: Final = 7 * 24 * 3600
"""After which a run that was never resumed keeps later ones from newer logs no more."""


def served_prompts(config: Config, *, fresh: bool) -> Path | None:
    """Return the table of the prompts of `synthesize.logs`; None where no logs are configured.

    Args:
        config: The run's configuration.
        fresh: Whether the logs are read again, whatever an unfinished run began with.

    Raises:
        InputError: The logs cannot be read.
    """
    synthesize = config.synthesize
    if synthesize.logs is None:
        return None
    table = config.state.root / FOLDER / f"{config_digest(synthesize.model_dump(mode='json'))}.parquet"
    if fresh or not table.is_file() or time.time() - table.stat().st_mtime > SECONDS_KEPT:
        table.parent.mkdir(parents=True, exist_ok=True)
        draft = table.with_suffix(".draft")
        write_served_prompts(synthesize.logs, synthesize.counts, draft)
        draft.replace(table)
    return table


def release_served_prompts(config: Config) -> None:
    """Let the next run read the logs again."""
    shutil.rmtree(config.state.root / FOLDER, ignore_errors=True)
