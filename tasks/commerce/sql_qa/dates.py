"""SQLite's date functions without the clock: equal arguments give equal results on every day and machine.

In the sandbox they replace SQLite's own, call those, and cache the results; any use of the clock or the time zone is
refused, however its arguments arose.
"""

import sqlite3
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Final

Argument = str | bytes | int | float | None

ARGUMENTS: Final = {"date": 1, "time": 1, "datetime": 1, "julianday": 1, "unixepoch": 1, "strftime": 2}
"""The functions, and the fewest arguments with which each does not mean now."""
UNREPEATABLE: Final = frozenset(("now", "localtime", "utc", "subsec", "subsecond"))
"""Arguments that read the clock, the time zone, or (in newer versions of SQLite) mean `now` as the only argument."""
MAX_REMEMBERED: Final = 32_768


def _function(name: str, fewest: int) -> Callable[..., Argument]:
    @lru_cache(MAX_REMEMBERED)
    def function(*arguments: Argument) -> Argument:
        if len(arguments) < fewest or any(map(_is_unrepeatable, arguments)):
            raise ValueError(f"{name} would read the clock")
        places = ", ".join("?" * len(arguments))
        found: Argument = _sqlite().execute(f"SELECT {name}({places})", arguments).fetchone()[0]
        return found

    return function


def _is_unrepeatable(argument: Argument) -> bool:
    # SQLite reads text up to its first null character, and treats bytes as text.
    if isinstance(argument, bytes):
        return True
    return isinstance(argument, str) and argument.partition("\0")[0].strip().lower() in UNREPEATABLE


@cache
def _sqlite() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)


DATE_FUNCTIONS: Final[Mapping[str, Callable[..., Argument]]] = {
    name: _function(name, fewest) for name, fewest in ARGUMENTS.items()
}
