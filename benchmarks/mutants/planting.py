"""Planting of a mutant in this process: the mutated module and all that import it are executed anew, in memory.

Rewards of the tasks that they decide are replaced in the registry; the makers of prompts and of completions keep the
modules as they were. Nothing is restored: who plants is a process that ends with the mutant.
"""

import sys
from collections.abc import Mapping, MutableMapping, Sequence
from functools import cache
from types import CodeType, ModuleType
from typing import Any, Final, cast

from benchmarks.mutants.sources import Mutant, closure, path_of, source_of, tasks_of
from schemas.source import source_files
from schemas.tasks import TASK_NAMES
from tasks.audit.mutations.breaking import SPEC
from tasks.commerce.registry import TASKS

STORE_MODULES: Final = ("tasks.commerce.sql_qa.sandbox",)
"""Modules whose mutants need new copies of the store."""


def plant(mutant: Mutant) -> None:
    """Replace the rewards that the mutant's module decides by mutated ones.

    Raises:
        Exception: Whatever the mutated module raises when it is imported.
    """
    for name in importers(mutant.module):
        changed = name == mutant.module
        code = compile(mutant.source, str(path_of(name)), "exec") if changed else _compiled(name)
        _execute(name, code)
    for task in tasks_of(mutant.module):
        rewards = cast("MutableMapping[Any, Any]", TASKS[task].rewards)
        rewards[SPEC] = sys.modules[f"tasks.commerce.{task}.scorer"].REWARDS[SPEC]


def needs_new_store(mutant: Mutant) -> bool:
    """Return whether copies of the store, or what runs on them, may be others by the mutant."""
    return not set(STORE_MODULES).isdisjoint(importers(mutant.module))


@cache
def importers(module: str) -> Sequence[str]:
    """Return a module and those of the rewards that depend on it, each after what it depends on."""
    needs = _needs()
    found = [name for name in needs if name == module or module in needs[name]]
    return sorted(found, key=lambda name: (len(needs[name]), name))


@cache
def _needs() -> Mapping[str, frozenset[str]]:
    modules = sorted({name for task in TASK_NAMES for name in closure(task)})
    return {name: frozenset(source_files(name)) for name in modules}


def _execute(name: str, code: CodeType) -> None:
    whole = sys.modules[name]
    fresh = ModuleType(name, whole.__doc__)
    fresh.__file__, fresh.__package__, fresh.__spec__ = whole.__file__, whole.__package__, whole.__spec__
    sys.modules[name] = fresh
    package, _, last = name.rpartition(".")
    setattr(sys.modules[package], last, fresh)
    exec(code, fresh.__dict__)  # noqa: S102 - our own source, with one change


@cache
def _compiled(name: str) -> CodeType:
    return compile(source_of(name), str(path_of(name)), "exec")
