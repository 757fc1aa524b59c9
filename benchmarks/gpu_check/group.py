"""One group of checks, in a process of its own: `python -m benchmarks.gpu_check.group MODULE WORK SCALE`."""

import importlib
import json
import sys
from pathlib import Path

from benchmarks.gpu_check.base import Scale, append_row, rows_file


def main(module: str, work: str, scale: str) -> None:
    """Measure a group, and append each of its rows as it is found; later groups read what earlier ones write."""
    measure = importlib.import_module(f"benchmarks.gpu_check.{module}").measure
    for row in measure(Scale(**json.loads(scale)), Path(work)):
        append_row(rows_file(Path(work), module), row)


if __name__ == "__main__":
    main(*sys.argv[1:])
