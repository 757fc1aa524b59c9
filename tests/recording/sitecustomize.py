"""Recorder of what a Python process runs: imported by each one that starts with this folder on its path.

Where `RECORD_SOURCES` names a folder, a process writes there, as it ends, the modules that it loaded and the files that
it opened, by the name of its main module.
"""

import atexit
import json
import os
import sys
import uuid
from pathlib import Path

FOLDER = os.environ.get("RECORD_SOURCES")


def record(folder: Path) -> None:
    opened: set[str] = set()

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str):
            opened.add(arguments[0])

    def write() -> None:
        spec = getattr(sys.modules["__main__"], "__spec__", None)
        document = {"main": spec.name if spec else None, "modules": sorted(sys.modules), "opened": sorted(opened)}
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{uuid.uuid4().hex}.json").write_text(json.dumps(document), encoding="utf-8")

    sys.addaudithook(note)
    atexit.register(write)


if FOLDER:
    record(Path(FOLDER))
