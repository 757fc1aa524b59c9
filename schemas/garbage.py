"""Garbage collection of a process that loads large libraries."""

import atexit
import gc
from typing import Final

OBJECTS_BETWEEN_COLLECTIONS: Final = 10_000
"""New objects after which Python looks for garbage: few enough that no dead tensor is kept for long."""


def collect_rarely() -> None:
    """Collect garbage less often than by Python's default, and not at the end of the process.

    Importing torch and TRL makes a million objects that stay; walking through them again and again is a quarter of a
    child's start.
    """
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    atexit.register(gc.freeze)
