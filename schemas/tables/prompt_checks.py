"""Checks of prompt rows: the reference fits its task, and the id is the sha256 of the content."""

import json
from collections.abc import Mapping
from typing import Any, Final

import polars as pl
from pydantic import ValidationError

from schemas.references import check_reference
from schemas.tables.prompts import canonical_json, content_id
from schemas.tasks import TASK_NAMES

MOST_NESTED: Final = 20
"""Deepest nesting of objects and lists in a reference; those of the tasks have two levels."""


def references_that_fit(table: pl.DataFrame) -> pl.Series:
    """Return for each row whether its reference is an object of its task's shape; of an unknown task any object."""
    asked = [*zip(table["task"], table["reference"], strict=True)]
    fits = {pair: reference_fits(*pair) for pair in dict.fromkeys(asked)}
    return pl.Series([fits[pair] for pair in asked], dtype=pl.Boolean)


def ids_that_fit(table: pl.DataFrame) -> pl.Series:
    """Return for each row whether its `prompt_id` is the `content_id` of its content."""
    return pl.Series(map(id_fits, table.iter_rows(named=True)), dtype=pl.Boolean)


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
