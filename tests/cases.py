"""Cases of a test file that stand in a file of data beside it."""

import json
from pathlib import Path
from typing import Any


def cases_of(test_file: str) -> dict[str, Any]:
    """Return what `NAME_cases.json` beside the test file `test_NAME.py` holds, by the name of a test or list."""
    file = Path(test_file)
    found: dict[str, Any] = json.loads(
        file.with_name(f"{file.stem.removeprefix('test_')}_cases.json").read_text(encoding="utf-8")
    )
    return found
