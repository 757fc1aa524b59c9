"""The hops of a call: the house's functions on the stack, and a library's that they rely on by name."""

import sys
from pathlib import Path
from types import FrameType

from schemas.source import PACKAGES, REPOSITORY

LIBRARY_HOPS = {("transformers.trainer", "train")}
"""Functions of libraries that count as a hop; a library's functions in between do not."""

Hop = tuple[str, str]
"""A file of the repository, or a module of a library, and the name of its function."""


def hops() -> list[Hop]:
    """Return the functions that led to the caller of this one, the first first; a module's own code is none."""
    found: list[Hop] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name, module = frame.f_code.co_name, frame.f_globals.get("__name__", "")
        file = Path(frame.f_code.co_filename)
        if file.is_relative_to(REPOSITORY) and file.relative_to(REPOSITORY).parts[0] in PACKAGES:
            if name != "<module>":
                found.append((file.relative_to(REPOSITORY).as_posix(), name))
        elif (module, name) in LIBRARY_HOPS:
            found.append((module, name))
        frame = frame.f_back
    return found[::-1]
