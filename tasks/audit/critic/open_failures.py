"""Alterations that still miss their limit, in `data/audit/critic/open.toml`: a mended reward takes lines away."""

import tomllib
from collections.abc import Mapping
from functools import cache
from typing import Final

from schemas.tasks import TaskName
from tasks.audit.critic.wordings import FOLDER

OF_A_REAL_STORE: Final = "_of_a_real_store"
"""End of the title of what misses its limit where references know less."""


def open_failures(task: TaskName) -> frozenset[str]:
    """Return the names of a task's alterations that are known to miss their limit, in a simulated or a real store.

    A sheet holds prompts of either, and in another mixture than the fresh prompts of the list.
    """
    return frozenset(name for title in (task, f"{task}{OF_A_REAL_STORE}") for name in _read().get(title, ()))


@cache
def _read() -> Mapping[str, Mapping[str, float]]:
    return tomllib.loads((FOLDER / "open.toml").read_text(encoding="utf-8"))
