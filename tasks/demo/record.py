"""Record the shipped run again: `make recording` runs the README's commands, and keeps what they print."""

import gzip
import json
import re
import shlex
import sys
import zlib
from base64 import b64decode
from collections.abc import Iterable
from pathlib import Path
from subprocess import PIPE, STDOUT, run
from typing import Any, Final

from schemas.errors import InputError
from schemas.source import REPOSITORY
from tasks.demo.recording import LOG_FILE
from tasks.evaluate.completions.page import EXAMPLE_FILE, PAGE_FILE

COMMANDS: Final = (
    "make retrain",
    '.venv/bin/tucano ask extraction "Veio errado, pedi azul e mandaram preto. Não compro mais."',
)

_STATE: Final = REPOSITORY / ".tucano"
_OF_THE_MACHINE: Final = re.compile(r"^(report|completions|model):|^/")
"""Lines that name folders of this machine."""


def record() -> None:
    """Run the commands, which take minutes, and write `data/example_run.txt` and `data/example_run.json.gz`.

    Raises:
        InputError: There is a state folder, whose stages would be skipped, or a command failed.
    """
    if _STATE.exists():
        raise InputError(f"{_STATE} would be used again, and a recording is of a whole run; move it away")
    printed = list[str]()
    for command in COMMANDS:
        ended = run(shlex.split(command), cwd=REPOSITORY, stdout=PIPE, stderr=STDOUT, text=True, check=False)
        if ended.returncode:
            raise InputError(f"{command!r} ended with {ended.returncode}: {ended.stdout[-400:]}")
        printed += [f"$ {command}", *of_the_product(ended.stdout.splitlines())]
    LOG_FILE.write_text("\n".join(printed) + "\n", encoding="utf-8")
    (page,) = _STATE.glob(f"artifacts/evaluation/*/content/{PAGE_FILE}")
    rows = json.dumps(rows_of(page), ensure_ascii=False, separators=(",", ":"))
    EXAMPLE_FILE.write_bytes(gzip.compress(rows.encode(), mtime=0))


def of_the_product(lines: Iterable[str]) -> list[str]:
    """Leave out what the installation printed before make called `tucano`, and folders of this machine."""
    kept = [line.rstrip() for line in lines if not _OF_THE_MACHINE.match(line)]
    calls = [number for number, line in enumerate(kept) if line.startswith(".venv/bin/tucano")]
    return kept[calls[0] :] if calls else kept


def rows_of(page: Path) -> dict[str, Any]:
    """Return the rows that a page of completions carries."""
    packed = page.read_text(encoding="utf-8").partition('id="rows">')[2].partition("<")[0]
    carried: dict[str, Any] = json.loads(zlib.decompress(b64decode(packed)))
    del carried["words"]
    return carried


if __name__ == "__main__":
    try:
        record()
    except InputError as error:
        sys.stderr.write(f"recording: {error}\n")
        sys.exit(error.exit_code)
