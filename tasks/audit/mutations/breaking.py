"""How a reward is broken while an audit runs, and mended afterwards, whatever happens in between.

A bug is planted where it would stand: a few words of a function's source are others, and what is compiled of it takes
the place of the function's code, so that whoever holds the function runs the bug. A bug that the source has no place
for any more is an error, not a bug that nobody notices.
"""

import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pkgutil import resolve_name
from types import CodeType, FunctionType
from typing import Any, Final, cast

from schemas.tasks import TaskName
from tasks.commerce.commerce_task import Reward, Scorer
from tasks.commerce.registry import TASKS

PACKAGE: Final = "tasks.commerce."
"""Where rewards are broken."""
SPEC: Final = "grounded"
"""The specification whose rewards are broken."""

Plant = Callable[[], AbstractContextManager[None]]
"""Plants a bug for as long as the context lasts."""


@dataclass(frozen=True)
class Mutant:
    """A reward with one bug."""

    name: str
    broken: str
    """What is broken, in a sentence."""
    tasks: tuple[TaskName, ...]
    """The tasks whose rewards are audited with the bug."""
    plants: tuple[Plant, ...]
    """What plants it."""

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Plant the bug; what rewards remember of their work is forgotten before and after."""
        with ExitStack() as planted:
            planted.callback(forget)
            for plant in self.plants:
                planted.enter_context(plant())
            forget()
            yield


def edit(function: str, *changes: tuple[str, str]) -> Plant:
    """Change words of a function's source.

    Args:
        function: Module and name, such as `extraction:score` or `commerce_task:Reward.total`.
        changes: What stands in the source exactly once, and what stands there with the bug.

    Raises:
        LookupError: On planting, where the source has not each of these words once.
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
    """Put another value in the place of a module's or an object's attribute."""

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
    """Put another value in the place of a mapping's entry; the order of its keys stays."""

    @contextmanager
    def planted() -> Iterator[None]:
        # What nobody else may change is a dict all the same.
        entries = cast("MutableMapping[Any, Any]", mapping)
        whole = entries[key]
        entries[key] = change(whole)
        try:
            yield
        finally:
            entries[key] = whole

    return planted


def wrap(task: TaskName, around: Callable[[Scorer], Scorer]) -> Plant:
    """Put something between a task's reward and whoever asks for it."""

    def wrapped(reward: Reward) -> Reward:
        return Reward(reward.weights, around(reward.score))

    return replace_entry(TASKS[task].rewards, SPEC, wrapped)


def forget() -> None:
    """Empty the caches of the rewards' modules: what a broken reward remembers is broken too."""
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
