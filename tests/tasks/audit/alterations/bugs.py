"""Bugs that were made, or that somebody may make, in what decides the rewards; each is planted in the source.

A few words of a function are replaced, and the compiled result takes the place of its code, so that every holder of the
function runs the bug. A bug that no longer matches the source is an error, never skipped.
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
from tasks.commerce.registry import TASKS, reward_of
from tasks.commerce.reward import Reference, Score, Scorer
from tasks.commerce.sql_qa import query_text
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.commerce.text.parser import Reading

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
    return replace_entry(TASKS[task].rewards, "grounded", lambda reward: replace(reward, score=around(reward.score)))


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


def _as_push(whole: Scorer) -> Scorer:
    push, weights = TASKS["push"].rewards["v4.2"], reward_of("insights", "grounded").weights

    def score(completion: str, prompt: str, reference: Reference | None, databases: Databases | None) -> Score:
        found = push.score(completion, prompt, reference, databases)
        return Score(dict(zip(weights, found.components.values(), strict=False)))

    return score


HOLE: Final = Bug(
    "sentiment: neighbours are right",
    "Neutral counts as right for positive and negative.",
    ("sentiment",),
    (edit("sentiment.scorer:_polarity_agreement", ("(1.0, 0.2, 0.0)", "(1.0, 1.0, 0.0)")),),
)
"""A bug that the attack finds."""
HISTORIC: Final = (
    Bug(
        "no decimal comma",
        "A bare 4,5 is not read as a number, so that the whole object has to be repaired (V4.2 report, V4).",
        ("extraction",),
        (edit("text.parser:_json_number", ('read_number(match["number"])', "None")),),
    ),
    Bug(
        "boolean as integer",
        "true counts as the integer 1 where stars are asked for (V4.2 report, hotfix V4.2.1).",
        ("extraction", "sentiment"),
        (edit("text.json_fields:is_stars", (" and not isinstance(value, bool)", "")),),
    ),
    Bug(
        "stars may be broken",
        "4.5 passes for a whole number of stars.",
        ("extraction", "sentiment"),
        (edit("text.json_fields:is_stars", ("isinstance(value, int) and", "isinstance(value, int | float) and")),),
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
        "repair not capped",
        "A repaired object counts as much as a valid one.",
        ("sentiment",),
        tuple(replace_attribute(Reading.REPAIRED, name, lambda _: 1.0) for name in ("form", "trust")),
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
        "sql_qa: chatter is free",
        "A query among other text is as good as a query alone.",
        ("sql_qa",),
        (
            edit("sql_qa.query_text:form", ("SURROUNDED * min(len(sql) / len(bare), 1.0)", "1.0")),
            edit("sql_qa.query_text:is_alone", ("len(bare) == len(sql)", "True")),
        ),
    ),
    Bug(
        "scale of 2",
        "The reward of one task goes up to 2 while the others' go up to 1.",
        ("sentiment",),
        (edit("reward:Reward.total", ("min(max(total, 0.0), 1.0)", "2 * total")),),
    ),
    Bug(
        "scored as push", "An analysis is scored as a push, by its words.", ("insights",), (wrap("insights", _as_push),)
    ),
    Bug(
        "narrow word list",
        "Names in a query may have no words but the question's and the tables'.",
        ("sql_qa",),
        (
            replace_attribute(query_text, "_QUERY_WORDS", lambda _: frozenset()),
            edit("sql_qa.query_text:_name_beginnings", ('*read_lexicon("query_names")', "*()")),
        ),
    ),
    Bug(
        "endless thought",
        "A thought that never ended counts as an answer.",
        ("sentiment",),
        tuple(replace_attribute(Reading.DRAFT, name, lambda _: 1.0) for name in ("form", "trust")),
    ),
    Bug(
        "no length cliff",
        "A long answer with the right one somewhere earns as much as that alone.",
        ("sentiment",),
        (
            edit("text.parser:ParsedObject.trust_alone", ("1.0 if alone else NOT_ALONE", "1.0")),
            edit("text.parser:ParsedObject.trust", (" * ramp(self.padding, *PADDING)", "")),
        ),
    ),
)
"""Bugs of the project's first versions: each cost a training, or was found by people just before one."""
