"""Start of a Python process: what it may import, and how often it looks for garbage."""

import atexit
import gc
import os
from pathlib import Path
from typing import Final


def safe_environment() -> dict[str, str]:
    """Return this process's environment for a child, in which no `html.py` of a user's folder passes for a library."""
    # `python -m` and `-c` put the current folder first on the path, and an empty entry of PYTHONPATH names it too.
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return {
        **os.environ,
        "PYTHONSAFEPATH": "1",
        "PYTHONPATH": os.pathsep.join(entry for entry in entries if Path(entry).is_absolute()),
    }


OBJECTS_BETWEEN_COLLECTIONS: Final = 10_000
"""New objects after which Python looks for garbage: few enough that no dead tensor is kept for long."""


def collect_rarely() -> None:
    """Collect garbage less often than by Python's default, and not at the end of the process."""
    # Importing torch and TRL makes a million objects that stay; walking through them is a quarter of a child's start.
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    atexit.register(gc.freeze)
