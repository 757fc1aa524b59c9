"""Temporary mutation of a reward, restored after the audit in any case.

A bug is planted in the source: a few words of a function are replaced, and the compiled result takes the place of the
function's code, so that every holder of the function runs the bug. A mutation that no longer matches the source is an
error, never skipped silently.
"""

import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pkgutil import resolve_name
from types import CodeType, FunctionType
from typing import Any, Final, cast

from schemas.tasks import TaskName
from tasks.commerce.registry import TASKS
from tasks.commerce.reward import Reward, Scorer

PACKAGE: Final = "tasks.commerce."
"""Package of the mutated rewards."""
SPEC: Final = "grounded"
"""Specification of the mutated rewards."""

Plant = Callable[[], AbstractContextManager[None]]
"""Context manager that applies a bug while it is open."""


@dataclass(frozen=True)
class Mutant:
    """A reward with one bug."""

    name: str
    broken: str
    """Description of the bug, in a sentence."""
    tasks: tuple[TaskName, ...]
    """The tasks whose rewards are audited with the bug."""
    plants: tuple[Plant, ...]
    """The changes that make up the bug."""

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Apply the bug; the rewards' caches are cleared before and after."""
        with ExitStack() as planted:
            planted.callback(forget)
            for plant in self.plants:
                planted.enter_context(plant())
            forget()
            yield


def edit(function: str, *changes: tuple[str, str]) -> Plant:
    """Replace words in a function's source.

    Args:
        function: Module and name, such as `extraction.scorer:score` or `reward:Reward.total`.
        changes: Text that occurs in the source exactly once, and its replacement with the bug.

    Raises:
        LookupError: On applying, if the source does not contain each text exactly once.
    """

    @contextmanager
    def planted() -> Iterator[None]:
        found = _function(function)
        whole = found.__code__
        found.__code__ = _edited(found, function, changes)
        try:
            yield
        finally:
            found.__code__ = whole

    return planted


def replace_attribute(owner: object, name: str, change: Callable[[Any], Any]) -> Plant:
    """Replace the value of a module's or an object's attribute."""

    @contextmanager
    def planted() -> Iterator[None]:
        whole = getattr(owner, name)
        setattr(owner, name, change(whole))
        try:
            yield
        finally:
            setattr(owner, name, whole)

    return planted


def replace_entry(mapping: Mapping[Any, Any], key: object, change: Callable[[Any], Any]) -> Plant:
    """Replace the value of a mapping's entry; the order of its keys stays."""

    @contextmanager
    def planted() -> Iterator[None]:
        # A read-only mapping is still a dict at run time.
        entries = cast("MutableMapping[Any, Any]", mapping)
        whole = entries[key]
        entries[key] = change(whole)
        try:
            yield
        finally:
            entries[key] = whole

    return planted


def wrap(task: TaskName, around: Callable[[Scorer], Scorer]) -> Plant:
    """Wrap a task's scoring function for all its callers."""

    def wrapped(reward: Reward) -> Reward:
        return replace(reward, score=around(reward.score))

    return replace_entry(TASKS[task].rewards, SPEC, wrapped)


def forget() -> None:
    """Clear the caches of the rewards' modules, which hold results of the mutated reward."""
    for name, module in list(sys.modules.items()):
        if name.startswith(PACKAGE):
            for value in vars(module).values():
                if callable(clear := getattr(value, "cache_clear", None)):
                    clear()


def _function(name: str) -> FunctionType:
    found = resolve_name(f"{PACKAGE}{name}")
    if isinstance(found, property):
        found = found.fget
    return cast("FunctionType", inspect.unwrap(found))


def _edited(function: FunctionType, name: str, changes: tuple[tuple[str, str], ...]) -> CodeType:
    source = textwrap.dedent(inspect.getsource(function))
    for whole, broken in changes:
        if source.count(whole) != 1:
            raise LookupError(f"{name} has not `{whole}` once; plant the bug where the code is now")
        source = source.replace(whole, broken)
    module = compile(source, f"<{name}, broken>", "exec")
    return next(
        code for code in module.co_consts if isinstance(code, CodeType) and code.co_name == function.__code__.co_name
    )
