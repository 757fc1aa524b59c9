"""Checks of prompt rows: the reference fits its task, and the id is the sha256 of the content.

Expressions on whole columns decide most rows. They can only be too strict: a row that they reject is checked by itself,
with `schemas.tables.prompts.content_id` and `schemas.references.check_reference`.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import polars as pl
from pydantic import ValidationError

from schemas.references import check_reference
from schemas.tables.prompts import canonical_json, content_id
from schemas.tasks import TASK_NAMES, TaskName

_ESCAPES: Final = {letter: json.dumps(letter)[1:-1] for letter in ('"', "\\", *map(chr, range(32)))}
_TEXT: Final = r'"(?:[^"\\\x00-\x1f]|\\["\\bfnrt])+"'
MOST_NESTED: Final = 20
"""Deepest nesting of objects and lists in a reference; those of the tasks have two levels."""
_SHAPES: Final[Mapping[TaskName, str]] = {
    "sql_qa": rf'^\{{"sql":{_TEXT}\}}$',
    "insights": rf'^\{{"facts":\[(?:{_TEXT}(?:,{_TEXT})*)?\]\}}$',
    "push": rf'^\{{"offer":{_TEXT},"product":{_TEXT}\}}$',
}
"""Patterns of canonical references in the tasks that have about as many references as prompts."""


def references_that_fit(table: pl.DataFrame) -> pl.Series:
    """Return for each row whether its reference is a JSON object of the shape that its task needs.

    For an unknown task any object fits.
    """
    fits = table.select(_has_its_shape()).to_series()
    tasks, texts = table["task"], table["reference"]
    others = ~tasks.is_in(TASK_NAMES).fill_null(False)
    for task, of_task in [*((task, (tasks == task).fill_null(False)) for task in TASK_NAMES), (None, others)]:
        unsure = of_task & ~fits
        fits |= unsure & _is_one_of(texts, unsure, partial(reference_fits, task))
    return fits


def ids_that_fit(table: pl.DataFrame) -> pl.Series:
    """Return for each row whether its `prompt_id` is the `content_id` of its content."""
    canonical = table.select(_has_its_shape()).to_series()
    canonical |= _is_one_of(table["reference"], ~canonical, _is_canonical)
    fits = canonical & table.select((_digest(table) == pl.col("prompt_id")).fill_null(False)).to_series()
    unsure = table.filter(~fits)
    return fits.scatter((~fits).arg_true(), pl.Series(map(id_fits, unsure.iter_rows(named=True)), dtype=pl.Boolean))


def reference_fits(task: str | None, text: str | None) -> bool:
    """Return whether a reference is a JSON object of the shape that its task, if known, needs."""
    reference = _reference(text)
    if reference is None:
        return False
    if task not in TASK_NAMES:
        return True  # the check of the task column reports it
    try:
        check_reference(task, reference)
    except ValidationError:
        return False
    return True


def id_fits(row: Mapping[str, Any]) -> bool:
    """Return whether a row's `prompt_id` is the `content_id` of its content."""
    reference = _reference(row["reference"])
    content = (row["task"], row["system"], row["prompt"])
    return reference is not None and row["prompt_id"] == content_id(*content, reference)


def _has_its_shape() -> pl.Expr:
    """Return whether a reference is certainly canonical and fits its task."""
    shapes = [(pl.col("task") == task) & pl.col("reference").str.contains(shape) for task, shape in _SHAPES.items()]
    return pl.any_horizontal(shapes).fill_null(False)


def _is_one_of(texts: pl.Series, asked: pl.Series, holds: Callable[[str | None], bool]) -> pl.Series:
    """Return for each text whether `holds` accepts it; each of the asked texts is tried once."""
    distinct = texts.filter(asked).unique()
    right = distinct.filter(pl.Series(map(holds, distinct), dtype=pl.Boolean))
    return texts.is_in(right.implode()).fill_null(False)


def _digest(table: pl.DataFrame) -> pl.Expr:
    """Return the `content_id` of each row whose reference is canonical; null where a part is."""
    import polars_hash

    def escaped_once(name: str) -> pl.Expr:
        distinct = table[name].unique()
        return pl.col(name).replace_strict(distinct, distinct.str.replace_many(_ESCAPES))

    content = pl.concat_str(
        pl.lit('{"prompt":"'),
        pl.col("prompt").str.replace_many(_ESCAPES),
        pl.lit('","reference":'),
        pl.col("reference"),
        pl.lit(',"system":"'),
        escaped_once("system"),
        pl.lit('","task":"'),
        escaped_once("task"),
        pl.lit('"}'),
    )
    digest: pl.Expr = polars_hash.CryptographicHashingNameSpace(content).sha2_256()
    return digest


def _is_canonical(text: str | None) -> bool:
    reference = _reference(text)
    return reference is not None and canonical_json(reference) == text


def _reference(text: str | None) -> dict[str, Any] | None:
    try:
        reference = json.loads(text or "")
        # A value that cannot be written again (a number beyond the largest float, half a surrogate pair) has no
        # identity.
        canonical_json(reference).encode()
    except (ValueError, RecursionError):
        return None
    return reference if isinstance(reference, dict) and _is_flat(reference, MOST_NESTED) else None


def _is_flat(value: Any, levels: int) -> bool:
    if not isinstance(value, (dict, list)):
        return True
    parts = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_is_flat(part, levels - 1) for part in parts)
