"""Mutants of the reward code as source texts, made by cosmic-ray's machinery; nothing is written."""

import random
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from cosmic_ray.ast import ast_nodes
from cosmic_ray.mutating import mutate_code

from benchmarks.mutants.operators import operators, parsed
from schemas.source import REPOSITORY, source_files
from schemas.tasks import TASK_NAMES, TaskName

PACKAGE: Final = "tasks.commerce."
SHOWN: Final = 150
"""Characters of a changed line that are shown."""


class Mutant(NamedTuple):
    """One change of one module."""

    module: str
    operator: str
    occurrence: int
    """Number of the place among those where the operator applies in the module."""
    line: int

    @property
    def source(self) -> str:
        """Return the module's source with the change; the source as it is where the change is none."""
        return mutate_code(source_of(self.module), operators()[self.operator], self.occurrence) or source_of(
            self.module
        )

    @property
    def place(self) -> str:
        """Return the file and the line."""
        return f"{path_of(self.module).relative_to(REPOSITORY)}:{self.line}"

    @property
    def change(self) -> str:
        """Return the changed lines, before and after."""
        before, after = source_of(self.module), self.source
        start = next(
            (place for place, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), len(after)
        )
        begin = max(before.rfind("\n", 0, start) + 1, start - SHOWN // 2)
        return f"{_shown(before, begin)} -> {_shown(after, begin)}"


def closure(task: TaskName) -> list[str]:
    """Return the modules of a task's reward below `tasks.commerce`, without packages."""
    names = [name for name in source_files(f"{PACKAGE}{task}.scorer") if name.startswith(PACKAGE)]
    return [name for name in names if path_of(name).name != "__init__.py"]


def tasks_of(module: str) -> list[TaskName]:
    """Return the tasks whose rewards a module decides."""
    return [task for task in TASK_NAMES if module in closure(task)]


def all_mutants(tasks: Sequence[TaskName] = TASK_NAMES) -> list[Mutant]:
    """Return the mutants of the modules that decide some tasks' rewards, each once."""
    modules = sorted({module for task in tasks for module in closure(task)})
    return [mutant for module in modules for mutant in _mutants(module)]


def sampled(mutants: Sequence[Mutant], count: int | None, seed: int) -> list[Mutant]:
    """Return some of the mutants, drawn by the seed, in their order; all where no count is given."""
    if count is None or count >= len(mutants):
        return list(mutants)
    return sorted(random.Random(seed).sample(mutants, count))


def path_of(module: str) -> Path:
    """Return a module's file."""
    path = REPOSITORY.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache
def source_of(module: str) -> str:
    """Return a module's source."""
    return path_of(module).read_text(encoding="utf-8")


def _mutants(module: str) -> Iterator[Mutant]:
    nodes = list(ast_nodes(parsed(source_of(module))))
    for name, operator in operators().items():
        places = [position for node in nodes for position in operator.mutation_positions(node)]
        for occurrence, (start, _) in enumerate(places):
            yield Mutant(module, name, occurrence, start[0])


def _shown(source: str, begin: int) -> str:
    """Return a source's line from the place on, or as much of it as is shown."""
    line = source[begin:].partition("\n")[0]
    text = " ".join(line.split())
    return f"{text[:SHOWN]}…" if len(text) > SHOWN else text
