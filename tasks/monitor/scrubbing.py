"""Removal of personal data from answers: their texts, and the values inside their references.

A reference is JSON, where a character may be written as an escape and a number has no quotation marks. So it is parsed,
scrubbed value by value, and serialized again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import orjson
import polars as pl

from tasks.personal_data.scrub import LEAST_PERSONAL

TEXTS: Final = ("prompt", "completion", "model_version")

Scrub = Callable[[pl.Series], pl.Series]
"""Replaces the personal data in texts; null stays null."""


def scrubbed(answers: pl.DataFrame, scrub: Scrub) -> pl.DataFrame:
    """Return answers without personal data.

    Args:
        answers: `prompt`, `completion` and `reference` (JSON or null), and any other columns.
        scrub: Removes personal data from texts.
    """
    for column in TEXTS:
        if column in answers.columns:
            texts = answers[column].drop_nulls().unique(maintain_order=True)
            answers = _replaced(answers, column, texts, scrub(texts))
    known = answers["reference"].drop_nulls().unique(maintain_order=True)
    return _replaced(answers, "reference", known, scrubbed_references(known, scrub))


def scrubbed_references(references: pl.Series, scrub: Scrub) -> pl.Series:
    """Return JSON documents without personal data in their texts, their whole numbers and their keys.

    A personal number becomes a text; other numbers stay unchanged.
    """
    documents = [orjson.loads(text) for text in references]
    said = pl.Series([*dict.fromkeys(text for document in documents for text in _texts(document))], dtype=pl.String)
    clean = dict(zip(said, scrub(said), strict=True))
    written = [orjson.dumps(_rebuilt(document, clean)).decode() for document in documents]
    return pl.Series(references.name, written, pl.String)


def _replaced(answers: pl.DataFrame, column: str, old: pl.Series, new: pl.Series) -> pl.DataFrame:
    changed = (old != new).arg_true()
    if not len(changed):
        return answers
    return answers.with_columns(pl.col(column).replace(old.gather(changed), new.gather(changed)))


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts of a document, numbers in digits."""
    if (text := _as_text(value)) is not None:
        yield text
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield key
            yield from _texts(part)
    elif isinstance(value, Sequence):
        for part in value:
            yield from _texts(part)


def _rebuilt(value: Any, clean: Mapping[str, str]) -> Any:
    if (text := _as_text(value)) is not None:
        return value if clean[text] == text else clean[text]
    if isinstance(value, Mapping):
        return {clean[key]: _rebuilt(part, clean) for key, part in value.items()}
    if isinstance(value, Sequence):
        return [_rebuilt(part, clean) for part in value]
    return value


def _as_text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    # 52998224725.0 reveals as much as 52998224725.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(int(value)) if is_number and value >= LEAST_PERSONAL and value == int(value) else None
