"""Logs to monitor: those that somebody names, or else what the gateway wrote into the state folder."""

from pathlib import Path
from typing import Final

from schemas.config.config import Config
from schemas.errors import InputError

_LOGS_FOLDER: Final = "logs"


def served_logs(config: Config) -> Path:
    """Return the folder of the state folder with the gateway's logs."""
    return config.state.root / _LOGS_FOLDER


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
    served = served_logs(config)
    if not served.is_dir():
        raise InputError(
            f"no logs are given, and `tucano serve` has written none into {served}; name a file or folder of them, or "
            "add --set monitor.logs=PATH"
        )
    return served
