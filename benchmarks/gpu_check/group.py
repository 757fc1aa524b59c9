"""One group of checks, in a process of its own: `python -m benchmarks.gpu_check.group MODULE WORK SCALE`."""

import importlib
import json
import sys
from pathlib import Path

from benchmarks.gpu_check.row import append_row
from benchmarks.gpu_check.scale import Scale


def main(module: str, work: str, scale: str) -> None:
    """Measure a group, and append each of its rows to `WORK/MODULE.rows` as it is found.

    Args:
        module: A module of this package.
        work: Folder that all groups share; later groups read what earlier ones write.
        scale: A `Scale` as JSON.
    """
    measure = importlib.import_module(f"benchmarks.gpu_check.{module}").measure
    for row in measure(Scale(**json.loads(scale)), Path(work)):
        append_row(rows_file(Path(work), module), row)


def rows_file(work: Path, module: str) -> Path:
    """Return the file of a group's rows."""
    return work / f"{module}.rows"


if __name__ == "__main__":
    main(*sys.argv[1:])
