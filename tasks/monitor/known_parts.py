"""Parts of the right answer that all references know.

A reference may know little: of one real review only the rating, of another a late delivery too. A reward then
redistributes the weight of unknown parts to the known ones, and is not comparable. So answers are compared only by the
parts that each of their references knows.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
import polars as pl

from schemas.references import REFERENCES
from schemas.tasks import TaskName


@dataclass(frozen=True)
class KnownParts:
    """Known parts of a task's references, such as `polarity` or `fields.sentiment`."""

    by_each: frozenset[str]
    """Known by all of them; empty if an answer has no reference."""
    by_some: frozenset[str]
    """Known by at least one of them."""


def known_parts(answers: pl.DataFrame) -> dict[TaskName, KnownParts]:
    """Return the known parts of answers' references, by task.

    Args:
        answers: `task` and `reference` (JSON or null).
    """
    found: dict[TaskName, KnownParts] = {}
    for task, reference in answers.select("task", "reference").unique(maintain_order=True).iter_rows():
        parts = frozenset(_parts(task, orjson.loads(reference))) if reference else frozenset()
        before = found.get(task, KnownParts(parts, parts))
        found[task] = KnownParts(before.by_each & parts, before.by_some | parts)
    return found


def without_untold(tested: pl.DataFrame, logged: pl.DataFrame) -> pl.DataFrame:
    """Return the test answers without those that have no reference, in tasks of which every logged answer has one.

    A single one of them would leave nothing that all references know. The evaluation counts none of them either. A task
    of which no test answer has a reference keeps them all: it is compared by form.

    Args:
        tested: `task`, `reference` (JSON or null) and any other columns.
        logged: `task` and `reference`.
    """
    is_known = pl.col("reference").is_not_null()
    told = set(tested.filter(is_known)["task"]) - set(logged.filter(~is_known)["task"])
    return tested.filter(is_known | ~pl.col("task").is_in(sorted(told)))


def with_parts(answers: pl.DataFrame, parts: Mapping[TaskName, Collection[str]]) -> pl.DataFrame:
    """Return answers with references reduced to these parts; null if a task has none of them.

    Args:
        answers: `task`, `reference` (JSON or null) and any other columns.
        parts: By task, parts that each of its references knows.
    """
    on = ["task", "reference"]
    different = answers.select(on).drop_nulls().unique(maintain_order=True)
    cut = [_with_parts(task, reference, parts.get(task, ())) for task, reference in different.iter_rows()]
    known = different.with_columns(pl.Series("cut", cut, pl.String))
    found = answers.select(on).join(known, on, how="left", maintain_order="left")
    return answers.with_columns(found["cut"].alias("reference"))


def _with_parts(task: TaskName, reference: str, parts: Collection[str]) -> str | None:
    if not parts:
        return None
    document = orjson.loads(reference)
    beside = set(_parts(task, document)).difference(parts)
    return orjson.dumps(_without(document, beside)).decode() if beside else reference


def _parts(task: TaskName, document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the known parts that the task's rewards read."""
    for name in REFERENCES[task].model_fields:
        value = document[name]
        if isinstance(value, Mapping):
            yield from (f"{name}.{inner}" for inner, part in value.items() if part is not None)
        elif value is not None and value != []:
            yield name


def _without(document: Mapping[str, Any], beside: Collection[str], above: str = "") -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name, value in document.items():
        if f"{above}{name}" in beside:
            kept[name] = None
        else:
            kept[name] = _without(value, beside, f"{name}.") if isinstance(value, Mapping) else value
    return kept
