"""Bugs that were made, or that somebody may make, in the rewards (`bugs.toml`); each is planted in the source.

A few words of a function are replaced, and the compiled result takes the place of its code, so that every holder of the
function runs the bug. A bug that no longer matches the source is an error, never skipped.
"""

import inspect
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from pkgutil import resolve_name
from types import CodeType
from typing import Any, Final

import pytest

from schemas.tasks import TaskName
from tasks.commerce.registry import TASKS, reward_of
from tasks.commerce.reward import Reference, Score
from tasks.commerce.sql_qa.sandbox import Databases

PACKAGE: Final = "tasks.commerce."


@dataclass(frozen=True)
class Bug:
    """A bug of some tasks' rewards."""

    name: str
    broken: str
    tasks: tuple[TaskName, ...]
    edits: tuple[tuple[str, str, str], ...] = ()
    """Functions, such as `extraction.scorer:score`, words that occur in each once, and those that take their place."""
    attributes: tuple[tuple[str, str, Any], ...] = ()

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Apply the bug; the rewards' caches are cleared before and after."""
        try:
            with pytest.MonkeyPatch.context() as patch:
                for edit in self.edits:
                    _edit(patch, *edit)
                for owner, name, value in self.attributes:
                    new = frozenset(value) if isinstance(value, list) else value
                    patch.setattr(resolve_name(PACKAGE + owner), name, new)
                if self.name in _IN_CODE:
                    _IN_CODE[self.name](patch)
                forget()
                yield
        finally:
            forget()


def _edit(patch: pytest.MonkeyPatch, name: str, whole: str, broken: str) -> None:
    found: Any = resolve_name(f"{PACKAGE}{name}")
    function: Any = inspect.unwrap(getattr(found, "fget", found))
    source = textwrap.dedent(inspect.getsource(function))
    if source.count(whole) != 1:
        raise LookupError(f"{name} has not `{whole}` once; plant the bug where the code is now")
    compiled = compile(source.replace(whole, broken), f"<{name}, broken>", "exec").co_consts
    codes = (each for each in compiled if isinstance(each, CodeType) and each.co_name == function.__code__.co_name)
    patch.setattr(function, "__code__", next(codes))


def forget() -> None:
    """Clear the caches of the rewards' modules, which hold results of the mutated reward."""
    for name, module in list(sys.modules.items()):
        if name.startswith(PACKAGE):
            for value in vars(module).values():
                if callable(clear := getattr(value, "cache_clear", None)):
                    clear()


def _insights_as_push(patch: pytest.MonkeyPatch) -> None:
    push, whole = TASKS["push"].rewards["v4.2"], reward_of("insights", "grounded")

    def score(completion: str, prompt: str, reference: Reference | None, databases: Databases | None) -> Score:
        found = push.score(completion, prompt, reference, databases)
        return Score(dict(zip(whole.weights, found.components.values(), strict=False)))

    patch.setitem(TASKS["insights"].rewards, "grounded", replace(whole, score=score))


_IN_CODE: Final[dict[str, Callable[[pytest.MonkeyPatch], None]]] = {"scored as push": _insights_as_push}
_DATA: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
HISTORIC: Final = tuple(Bug(**{**each, "tasks": tuple(each["tasks"])}) for each in _DATA["historic"])
HOLE: Final = Bug(**{**_DATA["hole"], "tasks": tuple(_DATA["hole"]["tasks"])})
