"""Environment of the Pythons that this product starts: they import nothing from the current folder."""

import os
from pathlib import Path


def safe_environment() -> dict[str, str]:
    """Return this process's environment for a child, in which no `html.py` of a user's folder passes for a library.

    `python -m`, `python -c` and so multiprocessing put the current folder first on the path, and an empty entry of
    PYTHONPATH names it too.
    """
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return {
        **os.environ,
        "PYTHONSAFEPATH": "1",
        "PYTHONPATH": os.pathsep.join(entry for entry in entries if Path(entry).is_absolute()),
    }
