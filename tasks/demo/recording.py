"""Recording of the shipped run: its commands run again, and their log drawn as one animated SVG.

`make recording` runs the README's commands and keeps what they print. The SVG needs no player, no script and no other
file. Its lines are those of the log, unchanged; only the pauses between them are chosen here. Browsers and forges play
it by CSS. Where nothing may move, on paper or with `prefers-reduced-motion`, its last screen stands still.
"""

import gzip
import json
import re
import shlex
import sys
import zlib
from base64 import b64decode
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path
from subprocess import PIPE, STDOUT, run
from typing import Any, Final

from schemas.errors import InputError
from schemas.source import REPOSITORY
from tasks.evaluate.completions.page import EXAMPLE_FILE, PAGE_FILE
from tasks.report.page import page_template

LOG_FILE: Final = REPOSITORY / "data" / "example_run.txt"
"""Commands, each behind `$ `, and what they printed into a pipe."""
COMMANDS: Final = (
    "make retrain",
    '.venv/bin/tucano ask extraction "Veio errado, pedi azul e mandaram preto. Não compro mais."',
)
SECONDS: Final = 20
"""Length of a recording, which then begins again."""

_STATE: Final = REPOSITORY / ".tucano"
_OF_THE_MACHINE: Final = re.compile(r"^(report|completions|model):|^/")
"""Lines that name folders of this machine."""
_TEMPLATE: Final = Path(__file__).parent / "recording.svg.j2"
_COLUMNS: Final = 100
_ROWS: Final = 32
_PAUSES: Final = (("$ ", 1.0), ("└", 2.0), ("next:", 3.0))
"""Beginnings of lines, and how long one looks at them, in seconds before the whole is fitted to its length."""
_LAST_PAUSE: Final = 4.0
_PAUSE: Final = 0.06
_STAGES: Final = re.compile(r"^([\d.,]+) seconds by stage$", re.MULTILINE)


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


def draw(log: str) -> str:
    """Return the recording of a log, in whose lines a command begins with `$ `.

    Raises:
        ValueError: A line is wider than the terminal, or no line says how long the stages took.
    """
    lines = log.splitlines()
    if wide := [line for line in lines if len(line) > _COLUMNS]:
        raise ValueError(f"a line of the log has {len(wide[0])} characters, more than {_COLUMNS}: {wide[0]!r}")
    took = _STAGES.search(log)
    if took is None:
        raise ValueError("the log does not say '... seconds by stage'; record a whole `tucano retrain`")
    return page_template(_TEMPLATE).render(
        lines=lines, starts=_line_starts(lines), took=took[1], seconds=SECONDS, columns=_COLUMNS, rows=_ROWS
    )


def _line_starts(lines: list[str]) -> list[float]:
    """Return when each line appears, in per cent of the recording."""
    pauses = [next((pause for start, pause in _PAUSES if line.startswith(start)), _PAUSE) for line in lines[:-1]]
    ends = list(accumulate([*pauses, _LAST_PAUSE]))
    return [round(100 * end / ends[-1], 2) for end in (0.0, *ends[:-1])]


if __name__ == "__main__":
    try:
        record()
    except InputError as error:
        sys.stderr.write(f"recording: {error}\n")
        sys.exit(error.exit_code)
