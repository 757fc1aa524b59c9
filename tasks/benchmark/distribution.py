"""Wheel of the benchmark's own distribution: the modules and data files that its scorers and its adapter depend on."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from schemas.disk import scratch_folder
from schemas.errors import InputError
from schemas.source import REPOSITORY, module_file, source_files

PROJECT: Final = REPOSITORY / "packages" / "benchmark"
ENTRY_MODULES: Final = (
    "tasks.benchmark.__main__",
    "tasks.benchmark.adapters.lm_eval.docs",
    # No key follows into these, but the scorers import them.
    "schemas.errors",
    "schemas.progress",
    "schemas.source",
)
BUILD_DATE: Final = "1767225600"
"""Seconds since 1970 that every file of the wheel bears, so that equal sources give equal bytes."""


def build_wheel(output: Path) -> Path:
    """Build the wheel, of this checkout's sources.

    Returns:
        The wheel's file.

    Raises:
        InputError: It cannot be built.
    """
    with scratch_folder() as folder:
        stage = folder / "project"
        shutil.copytree(PROJECT, stage, ignore=shutil.ignore_patterns("__pycache__"))
        for name in source_files(*ENTRY_MODULES):
            # A data file has a path for a name.
            file = module_file(REPOSITORY, name) or REPOSITORY / name
            copied = stage / file.relative_to(REPOSITORY)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copied)
        wheels = folder / "wheels"
        ended = subprocess.run(
            [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps",
             "--no-build-isolation", "--wheel-dir", wheels, stage],
            capture_output=True, text=True, check=False, env={**os.environ, "SOURCE_DATE_EPOCH": BUILD_DATE},
        )  # fmt: skip
        if ended.returncode:
            raise InputError(
                f"the wheel cannot be built: {ended.stderr.strip()[-500:]}; see that pip and setuptools work"
            )
        (wheel,) = wheels.iterdir()
        output.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(wheel, output))
