"""Bugs that were made, or that somebody may make, in what decides the rewards; each is planted in the source.

A few words of a function are replaced, and the compiled result takes the place of its code, so that every holder of the
function runs the bug. A bug that no longer matches the source is an error, never skipped.
"""

import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pkgutil import resolve_name
from types import CodeType, FunctionType
from typing import Final, cast

from schemas.tasks import TaskName

PACKAGE: Final = "tasks.commerce."
Plant = Callable[[], AbstractContextManager[None]]
"""Context manager that applies a bug while it is open."""


@dataclass(frozen=True)
class Bug:
    """A bug of some tasks' rewards."""

    name: str
    broken: str
    tasks: tuple[TaskName, ...]
    plants: tuple[Plant, ...]

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
    """Replace words in a function's source, such as `extraction.scorer:score`; each text must occur in it once."""

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


_HELD: Final = "min(max(total, 0.0), 1.0)"


def _total(whole: str, broken: str) -> tuple[Plant, ...]:
    return (edit("reward:Reward.total", (whole, broken)),)


HOLE: Final = Bug(
    "sentiment: neighbours are right",
    "Neutral counts as right for positive and negative.",
    ("sentiment",),
    (edit("sentiment.scorer:_polarity_agreement", ("(1.0, 0.2, 0.0)", "(1.0, 1.0, 0.0)")),),
)
"""A bug that the attack finds."""
HISTORIC: Final = (
    Bug(
        "boolean as integer",
        "true counts as the integer 1 where stars are asked for (V4.2 report, hotfix V4.2.1).",
        ("extraction", "sentiment"),
        (edit("text.json_fields:is_stars", (" and not isinstance(value, bool)", "")),),
    ),
    Bug(
        "text as boolean",
        '"true" and "sim" in quotes pass for booleans.',
        ("extraction",),
        (
            edit(
                "text.json_fields:is_boolean",
                ("value is True or value is False", 'value in (True, False, "true", "false", "sim", "não")'),
            ),
        ),
    ),
    Bug(
        "strict JSON only",
        "An object in a code fence, with chatter or with one wrong quote counts as no object (binary form).",
        ("sentiment",),
        (
            edit(
                "text.parser:parse_object",
                ("_strict(text) or _fenced(text) or _surrounded(text) or _repaired(text)", "_strict(text)"),
            ),
        ),
    ),
    Bug(
        "truncation paid",
        "An object that was cut off and closed by the repair counts as a whole one.",
        ("sentiment",),
        (edit("text.parser:_repaired", ("needed.add(Reading.UNFINISHED)", "needed.clear()")),),
    ),
    Bug(
        "binary",
        "A completion earns everything or nothing instead of a part (investigation report, 3.1).",
        ("sentiment", "insights"),
        _total(_HELD, "float(total >= 0.5)"),
    ),
    Bug("constant", "Every completion earns a half.", ("sentiment", "insights"), _total(_HELD, "0.5")),
    Bug(
        "sql_qa: likeness for execution",
        "A query is right as far as its words are the reference's, whatever comes of it.",
        ("sql_qa",),
        (
            edit(
                "sql_qa.scorer:score",
                ("result_agreement(executions, wanted, reference_sql)", "f1(words(sql), words(reference_sql))"),
            ),
        ),
    ),
    Bug(
        "scale of 2",
        "The reward of one task goes up to 2 while the others' go up to 1.",
        ("sentiment",),
        (edit("reward:Reward.total", ("min(max(total, 0.0), 1.0)", "2 * total")),),
    ),
)
"""Bugs of the project's first versions: each cost a training, or was found by people just before one."""
