"""Prompts of a shop's own rows: each from the inputs of its task, as the gateway takes them, or from its whole text."""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, cast

import polars as pl
from pydantic import ValidationError

from schemas.errors import InputError
from schemas.faults import did_you_mean, first_fault
from schemas.progress import Progress, silent
from schemas.references import REFERENCES, ExtractionFields, check_reference, knows_anything
from schemas.store.column_map import IDENTITIES, PROMPT, MappedPrompts, reference_fields
from schemas.tables.prompts import PromptRow, content_id
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.extraction.real_reviews import known_of_review, of_stars
from tasks.commerce.inputs import TaskInputs
from tasks.commerce.text.lexicons import read_wording
from tasks.synthesize.own.cells import ColumnCells, as_flags, as_identifiers, as_numbers, as_whole_numbers
from tasks.synthesize.own.opened import NO_TABLES, OwnFiles

SOURCE: Final = "files"  # Origin of these prompts, as `PromptRow.source`.
EMPTY: Final = "have no text"
TOO_LONG: Final = "are too long"
UNTOLD: Final = "do not tell their complaint"
UNNEEDED: Final = "are more than were needed"
"""Reasons for which a row makes no prompt. Of a review whose sentiment is known the complaint has to be, too, as of the
store's reviews: else to hide it would earn as much as to name it."""
COMPLAINT: Final = "main_complaint"
TRIED: Final = 10  # Rows for a prompt, of which at least one is taken to make one.
TRIED_ALWAYS: Final = 200_000  # Rows that take a minute.
ROWS_BETWEEN_REPORTS: Final = 10_000

_READERS: Final[Mapping[str, Callable[[ColumnCells, MappedPrompts], list[Any]]]] = {
    "array": lambda cells, _: [None if text is None else _facts(text) for text in cells.texts],
    "boolean": lambda cells, _: as_flags(cells).to_list(),
    "number": lambda cells, file: as_numbers(cells, file.decimals).to_list(),
    "integer": lambda cells, file: as_whole_numbers(cells, file.decimals).to_list(),
}
"""How cells are read for a field, by its type in a JSON schema; others are texts."""


@dataclass
class Skipped:
    """Rows that made no prompt, by task and reason, and those that could."""

    rows: Counter[tuple[TaskName, str]] = field(default_factory=Counter)
    usable: Counter[TaskName] = field(default_factory=Counter)
    """Rows that could be prompts, by task."""

    def of(self, task: TaskName) -> dict[str, int]:
        """Return the rows of a task by the reason why they made no prompt."""
        return {reason: number for (name, reason), number in sorted(self.rows.items()) if name == task}


@dataclass(frozen=True)
class _Candidates:
    """Rows of one file that are of one task, with the values of their columns."""

    file: MappedPrompts
    rows: Sequence[int]
    inputs: Mapping[str, Sequence[Any]]
    known: Mapping[str, Sequence[Any]]
    identities: Mapping[str, Sequence[str | None]]
    place: ColumnCells
    """Any column, to name a row by."""
    model: type[TaskInputs]


class _Usable(NamedTuple):
    """A row that makes a prompt."""

    candidates: _Candidates
    row: int
    instruction: str
    is_known: bool
    """Whether something of the right answer is."""


def own_prompts(
    own: OwnFiles, task: TaskName, count: int, generator: random.Random, skipped: Skipped, progress: Progress = silent
) -> Iterator[PromptRow]:
    """Yield at most `count` prompts of a task from the rows that are some, in random order, each in one wording.

    Those of which something of the right answer is known come first: the others only where there are too few.
    """
    # The prompts of millions of rows do not fit into the memory of a laptop, but the place and the wording of each do.
    usable: list[_Usable] = []
    for file in own.column_map.prompts:
        if task in file.tasks:
            some = _drawn(_candidates(own, file, task), task, count, generator, skipped)
            usable += _usable_rows(some, task, generator, skipped, progress)
    if task == "sql_qa" and usable and not own.column_map.tables:
        raise InputError(f"{usable[0].candidates.file.path} has rows of sql_qa, and {NO_TABLES}")
    skipped.usable[task] += len(usable)
    generator.shuffle(usable)
    usable.sort(key=lambda each: not each.is_known)
    yield from (_prompt_row(task, each) for each in usable[:count])


def _drawn(
    candidates: _Candidates, task: TaskName, count: int, generator: random.Random, skipped: Skipped
) -> _Candidates:
    """Return the candidates with rows enough for a count, as some make no prompt: first those with an answer's cell."""
    most = max(TRIED * count, TRIED_ALWAYS)
    if (unneeded := len(candidates.rows) - most) <= 0:
        return candidates
    skipped.rows[task, UNNEEDED] += unneeded
    told = [row for row in candidates.rows if any(values[row] is not None for values in candidates.known.values())]
    drawn = generator.sample(told, min(most, len(told)))
    drawn += generator.sample(sorted({*candidates.rows} - {*told}), most - len(drawn))
    return replace(candidates, rows=sorted(drawn))


def _candidates(own: OwnFiles, file: MappedPrompts, task: TaskName) -> _Candidates:
    is_of_task = _is_of_task(own, file, task)
    inputs = {PROMPT: {"type": "string"}, **own.inputs[task].model_json_schema()["properties"]}

    def read(columns: Mapping[str, str], kinds: Mapping[str, Any]) -> dict[str, list[Any]]:
        values = {}
        for ours, name in columns.items():
            if ours in kinds:
                cells = own.cells(file, name, ours)
                only = replace(cells, texts=cells.texts.set(~is_of_task, None))
                values[ours] = _values(only, kinds[ours], file)
        return values

    known = REFERENCES[task].model_json_schema()["properties"]
    known |= ExtractionFields.model_json_schema()["properties"] if task == "extraction" else {}
    identities = own.identities(file)
    return _Candidates(
        file,
        is_of_task.arg_true().to_list(),
        read(file.columns, inputs),
        read(file.reference, {name: known[name] for name in reference_fields(task)}),
        {name: identities[name].to_list() for name in IDENTITIES if name in identities},
        own.place(file),
        own.inputs[task],
    )


def _is_of_task(own: OwnFiles, file: MappedPrompts, task: TaskName) -> pl.Series:
    if file.task_column is None:
        return pl.Series([True]).new_from_index(0, own.rows(file))
    cells = own.cells(file, file.task_column, "task")
    named = as_identifiers(cells)
    unknown = ~named.is_in(TASK_NAMES).fill_null(value=False)
    if unknown.any():
        first = str(named[unknown.arg_true()[0]] or "")
        near = did_you_mean(first, TASK_NAMES) or f"; use {', '.join(TASK_NAMES)}"
        cells.refuse(unknown, f"a task{near}")
    return named == task


def _values(cells: ColumnCells, described: Mapping[str, Any], file: MappedPrompts) -> list[Any]:
    """Return the cells as a field with this JSON schema has them."""
    types = {each.get("type") for each in described.get("anyOf", [described])}
    read = next((read for kind, read in _READERS.items() if kind in types), None)
    return cells.texts.to_list() if read is None else read(cells, file)


def _facts(text: str) -> list[Any]:
    """Return a list of JSON, or what stands between bars in a cell."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, list) else [part.strip() for part in text.split("|") if part.strip()]


def _usable_rows(
    candidates: _Candidates, task: TaskName, generator: random.Random, skipped: Skipped, progress: Progress
) -> Iterator[_Usable]:
    wording = read_wording(task)
    texts: dict[str, tuple[str, int]] = {}
    for number, row in enumerate(candidates.rows):
        if number % ROWS_BETWEEN_REPORTS == 0:
            progress(number, len(candidates.rows), f"rows of {task} read")
        # Drawn for every row, so that an empty one does not move the wordings of others.
        instruction = generator.choice(wording.instructions)
        content = _content(candidates, task, row, instruction)
        if isinstance(content, str):
            skipped.rows[task, content] += 1
            continue
        review = candidates.identities["review_id"][row] if "review_id" in candidates.identities else None
        if review is not None:
            said = repr(sorted(_given(candidates, row).items()))
            first, other = texts.setdefault(review, (said, row))
            if first != said:
                raise _fault(candidates, row, f"has the review_id of {candidates.place.row(other)}, and another text")
            if other != row:
                continue
        yield _Usable(candidates, row, instruction, knows_anything(content[1]))


def _content(candidates: _Candidates, task: TaskName, row: int, instruction: str) -> tuple[str, dict[str, Any]] | str:
    """Return the prompt of a row and its reference, or the reason for which it makes none."""
    if not (given := _given(candidates, row)):
        return EMPTY
    if (prompt := _prompt(candidates, task, row, given, instruction)) is None:
        return TOO_LONG
    known = {name: values[row] for name, values in candidates.known.items()}
    if (reference := _reference(task, known, given)) is None:
        return UNTOLD
    try:
        check_reference(task, reference)
    except ValidationError as error:
        said = f"has no reference of {task}: {first_fault(error)}; translate values by [prompts.values.FIELD]"
        raise _fault(candidates, row, said) from None
    return prompt, reference


def _given(candidates: _Candidates, row: int) -> dict[str, Any]:
    return {name: values[row] for name, values in candidates.inputs.items() if not _is_blank(values[row])}


def _prompt_row(task: TaskName, usable: _Usable) -> PromptRow:
    candidates, row, instruction, _ = usable
    # It made one before.
    content = cast("tuple[str, dict[str, Any]]", _content(candidates, task, row, instruction))
    identities = (candidates.identities[name][row] if name in candidates.identities else None for name in IDENTITIES)
    whole = (task, read_wording(task).system, *content)
    return PromptRow(content_id(*whole), *whole, SOURCE, *identities)


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _prompt(
    candidates: _Candidates, task: TaskName, row: int, given: Mapping[str, Any], instruction: str
) -> str | None:
    """Return the prompt of a row; None where a text of it is too long."""
    if PROMPT in given:
        return str(given[PROMPT])
    try:
        return candidates.model.model_validate(given).prompt(instruction)
    except ValidationError as error:
        if all(fault["type"] == "string_too_long" for fault in error.errors(include_url=False, include_input=False)):
            return None
        raise _fault(candidates, row, f"makes no prompt of {task}: {first_fault(error)}") from None


def _reference(task: TaskName, known: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the reference of a row, with what follows from what it knows; None where it knows too little of a review.

    As of a store's review (`tasks.commerce.review_cases`): its stars decide the sentiment, and its words may tell more.
    """
    review = " ".join(str(given.get("review") or "").split())
    if task == "extraction":
        return _extraction(known, review)
    found = {name: known.get(name) for name in REFERENCES[task].model_fields}
    if task == "sentiment" and found["polarity"] is None and found["score"] is not None:
        stars = of_stars(review, found["score"])
        found = {"polarity": stars.get("sentiment"), "score": stars.get("sentiment_score")}
    if task == "push":
        found |= {name: given[name] for name, value in found.items() if value is None and name in given}
        found = {name: " ".join(value.split()) if isinstance(value, str) else value for name, value in found.items()}
    return found


def _extraction(known: Mapping[str, Any], review: str) -> dict[str, Any] | None:
    rating = known.get("rating")
    fields = {name: known[name] for name in ExtractionFields.model_fields if known.get(name) is not None}
    if rating is not None and 1 <= rating <= 5:
        fields = {**known_of_review(review, rating), **fields}
        rating = rating if "sentiment" in fields else None
    if fields.get("complaint_category") == "none":
        fields.setdefault(COMPLAINT, "")
    if fields and COMPLAINT not in fields:
        return None
    return {"rating": rating, "fields": fields}


def _fault(candidates: _Candidates, row: int, what: str) -> InputError:
    return InputError(f"{candidates.file.path}: {candidates.place.row(row)} {what}; correct it")
