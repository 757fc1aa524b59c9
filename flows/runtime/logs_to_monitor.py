"""Logs to monitor: those that somebody names, or else what the gateway wrote into the state folder."""

from pathlib import Path
from typing import Final

from schemas.config.config import Config
from schemas.errors import InputError

LOGS_FOLDER: Final = "logs"
"""Folder of the state folder with the gateway's logs."""


def logs_to_monitor(config: Config, given: Path | None) -> Path:
    """Return the file or folder of the logs.

    Args:
        config: The run's configuration.
        given: What the caller names; None for what the configuration names.

    Raises:
        InputError: Neither names any, and the gateway wrote none.
    """
    named = given or config.monitor.logs
    if named is not None:
        return named
    served = config.state.root / LOGS_FOLDER
    if not served.is_dir():
        raise InputError(
            f"no logs are given, and `tucano serve` has written none into {served}; name a file or folder of them, or "
            "add --set monitor.logs=PATH"
        )
    return served
