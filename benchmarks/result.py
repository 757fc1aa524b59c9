"""Kept result of a benchmark's last whole run: what it printed, and on what machine."""

import os
import platform
import subprocess
from functools import partial
from pathlib import Path
from typing import Final

import psutil
from pydantic import BaseModel, ConfigDict

BENCHMARKS: Final = Path(__file__).parent
RESULTS: Final = BENCHMARKS / "results"


class Result(BaseModel):
    """Printed figures of one run; the benchmark's name is the file's."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: str
    machine: str
    """Processors, memory, system and Python; no name of the machine."""
    missed: int | None
    """Number of missed limits; None where an earlier run's tables were kept alone."""
    commit: str
    """Commit of the code that ran and its day, such as `7dde83d of 2026-11-28`; behind `+` some files were changed."""
    printed: list[str]
    """Lines on stdout, without trailing spaces; none where an earlier run was kept in words alone."""
    reading: str = ""
    """A reader's words about these figures, in Markdown; the next run drops them."""

    def write(self, name: str, folder: Path = RESULTS) -> Path:
        """Write the result of the benchmark of that name, and return its file."""
        file = folder / f"{name}.json"
        file.write_text(f"{self.model_dump_json(indent=1)}\n", encoding="utf-8")
        return file


def read_result(name: str, folder: Path = RESULTS) -> Result | None:
    """Return the kept result of a benchmark; None where none was kept."""
    file = folder / f"{name}.json"
    return Result.model_validate_json(file.read_text(encoding="utf-8")) if file.is_file() else None


def this_commit() -> str:
    """Return the commit of this checkout and its day."""
    git = partial(subprocess.run, cwd=BENCHMARKS, check=True, capture_output=True, text=True)
    commit, day = git(["git", "log", "-1", "--format=%h %as"]).stdout.split()
    changed = git(["git", "status", "--porcelain", "--untracked-files=no"]).stdout
    return f"{commit}{'+' if changed else ''} of {day}"


def this_machine() -> str:
    """Return words for the machine, without its name."""
    memory = f"{psutil.virtual_memory().total / 2**30:.0f} GiB"
    python = ".".join(platform.python_version_tuple()[:2])
    return f"{os.cpu_count()} {platform.machine()} processors, {memory}, {platform.system()}, Python {python}"
