"""Alterations that still miss their limit, in `data/audit/critic/open.toml`: a mended reward takes lines away."""

import tomllib
from collections.abc import Mapping
from functools import cache

from schemas.tasks import TaskName
from tasks.audit.critic.wordings import FOLDER

OF_A_REAL_STORE = "_of_a_real_store"
"""End of the title of what misses its limit only where references know less."""


def open_failures(task: TaskName, *, knows_less: bool) -> frozenset[str]:
    """Return the names of a task's alterations that are known to miss their limit.

    Args:
        task: The task.
        knows_less: Whether references leave something unknown, as those of a real store do.
    """
    known = _read()
    titles = (task, f"{task}{OF_A_REAL_STORE}") if knows_less else (task,)
    return frozenset(name for title in titles for name in known.get(title, ()))


@cache
def _read() -> Mapping[str, Mapping[str, float]]:
    return tomllib.loads((FOLDER / "open.toml").read_text(encoding="utf-8"))
