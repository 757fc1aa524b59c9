"""Recording of a terminal: one animated SVG, which needs no player, no script and no other file.

Its lines are those of a log, unchanged; only the pauses between them are chosen here. Browsers and forges play it by
CSS. Where nothing may move, on paper or with `prefers-reduced-motion`, its last screen stands still.

`data/example_run.txt` is the log of the shipped run, which `tasks.demo.record` writes: its commands, each behind `$ `,
and what they printed into a pipe.
"""

import re
from itertools import accumulate
from pathlib import Path
from typing import Final

from tasks.report.page import page_template

LOG_FILE: Final = Path(__file__).resolve().parents[2] / "data" / "example_run.txt"
SECONDS: Final = 20
"""Length of a recording, which then begins again."""

_TEMPLATE: Final = Path(__file__).parent / "recording.svg.j2"
_COLUMNS: Final = 100
_ROWS: Final = 32
_PAUSES: Final = (("$ ", 1.0), ("└", 2.0), ("next:", 3.0))
"""Beginnings of lines, and how long one looks at them, in seconds before the whole is fitted to its length."""
_LAST_PAUSE: Final = 4.0
_PAUSE: Final = 0.06
_STAGES: Final = re.compile(r"^([\d.,]+) seconds by stage$", re.MULTILINE)


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
        lines=lines, starts=_starts(lines), took=took[1], seconds=SECONDS, columns=_COLUMNS, rows=_ROWS
    )


def _starts(lines: list[str]) -> list[float]:
    """Return when each line appears, in per cent of the recording."""
    pauses = [next((pause for start, pause in _PAUSES if line.startswith(start)), _PAUSE) for line in lines[:-1]]
    ends = list(accumulate([*pauses, _LAST_PAUSE]))
    return [round(100 * end / ends[-1], 2) for end in (0.0, *ends[:-1])]
