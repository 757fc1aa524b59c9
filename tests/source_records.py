"""Code and data that ran, compared with those that a key is made of."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from schemas.source import NOT_IN_KEY, PACKAGES, REPOSITORY, source_files

RECORDER = Path(__file__).parent / "recording"


def run_recorded(code: str, folder: Path, *arguments: str) -> tuple[list[str], list[str]]:
    """Run Python code in a process that leaves a record in a folder; return the modules and data files it used."""
    path = os.pathsep.join(filter(None, (str(RECORDER), os.environ.get("PYTHONPATH"), str(REPOSITORY))))
    environment = {**os.environ, "PYTHONPATH": path, "RECORD_SOURCES": str(folder)}
    command = [sys.executable, "-c", code, *arguments]
    ended = subprocess.run(command, env=environment, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    (used,) = used_by_children(folder, None)
    return used


def used_by_children(folder: Path, module: str | None) -> list[tuple[list[str], list[str]]]:
    """Return the modules of the house and the data files that each recorded process of a main module used."""
    records = [json.loads(file.read_text(encoding="utf-8")) for file in folder.glob("*.json")]
    return [_used(record) for record in records if record["main"] == module]


def _used(record: dict[str, list[str]]) -> tuple[list[str], list[str]]:
    data = REPOSITORY / "data"
    opened = [Path(os.path.normpath(REPOSITORY / name)) for name in record["opened"]]
    files = sorted({file.relative_to(REPOSITORY).as_posix() for file in opened if file.is_relative_to(data)})
    return [name for name in record["modules"] if name.partition(".")[0] in PACKAGES], files


def outside_key(used: Iterable[str], *entry_modules: str) -> list[str]:
    """Return the modules and files that were used and are in no key, but for what a key leaves out for a reason."""
    used = set(used)
    left_out = {name for name in used if any(name == each or name.startswith(f"{each}.") for each in NOT_IN_KEY)}
    # What only these import is left out with them; the flows import everything.
    with_them = source_files(*(name for name in left_out if not name.startswith("flows")))
    return sorted(used - left_out - source_files(*entry_modules).keys() - with_them.keys())


@contextmanager
def executed_modules() -> Iterator[set[str]]:
    """Give the set of the house's modules of which a function runs in the block, in any thread."""
    ran: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            ran.add(frame.f_globals.get("__name__", ""))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield ran
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        ran &= {name for name in ran if name.partition(".")[0] in PACKAGES}
