"""Log lines of a person: no id links them to anybody, so that they are found by what they say.

A line is theirs if its prompt is one of theirs, if it holds the words of one of their reviews, or one of their ids.
Shorter words than `FEWEST_CHARACTERS` are many people's, and find nobody; so are ids shorter than
`FEWEST_ID_CHARACTERS`, which prices, times and digests have in them too.
"""

import io
import json
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from schemas.disk import replace_whole
from schemas.errors import InputError
from schemas.tables.log_file import FEEDBACK_FOLDER, FEEDBACK_SUFFIX, KINDS
from schemas.tables.person import Person
from tasks.lineage.privacy.identified_tables import PEOPLE, SUFFIXES
from tasks.lineage.store.inventory import Inventory

FEWEST_CHARACTERS: Final = 20
FEWEST_ID_CHARACTERS: Final = 8
WORDS: Final = ("prompt", "review_comment_message")
"""Columns of artifacts with the words of a person's rows."""
_ESCAPED_SPACE: Final = re.compile(r"\\[nrt]")


@dataclass(frozen=True)
class Traces:
    """What finds a person where there are no ids."""

    prompts: frozenset[str]
    words: tuple[str, ...]
    """Texts of reviews and prompts, folded; long enough to be one person's."""
    ids: tuple[str, ...]
    """Ids, folded; long enough to be one person's."""
    short: tuple[str, ...] = ()
    """Columns of ids that are too short to be looked for."""

    @property
    def unsearched(self) -> tuple[str, ...]:
        """Return a sentence on each column whose ids are not looked for."""
        return tuple(
            f"logs and traces were not searched for the {column}, since it is shorter than {FEWEST_ID_CHARACTERS} "
            "characters; lines with their prompts or words were found all the same"
            for column in self.short
        )

    def are_in_json(self, text: str) -> bool:
        """Return whether a JSON document has any of theirs."""
        return self.are_in(_texts(text), None)

    def are_in(self, texts: Iterable[str], prompt: str | None) -> bool:
        """Return whether a line is theirs: by its prompt, or by any of its texts."""
        if prompt is not None and prompt in self.prompts:
            return True
        whole = "\n".join(map(_folded, texts))
        return any(words in whole for words in self.words) or any(_has_token(whole, each) for each in self.ids)


def traces_of(inventory: Inventory, person: Person) -> Traces:
    """Return what finds a person, from the artifacts that still have their rows; unreadable ones are passed over."""
    import polars as pl
    from polars.exceptions import PolarsError

    texts: set[str] = set()
    for record in inventory.records.values():
        for name in record.files:
            path = inventory.folder(record.sha256) / name
            if path.suffix not in SUFFIXES - {".jsonl"}:
                continue
            try:
                table = (
                    pl.read_csv(path, infer_schema=False)
                    if path.suffix == ".csv"
                    else pl.read_parquet(path, glob=False)
                )
            except (OSError, PolarsError):
                continue
            found = table.filter(person.theirs(table.columns))
            for column in set(WORDS) & set(found.columns):
                texts.update(found[column].drop_nulls())
    long = {folded for text in texts if len(folded := _folded(text)) >= FEWEST_CHARACTERS}
    ids = person.columns()
    long_ids = {_folded(each) for values in ids.values() for each in values if len(each) >= FEWEST_ID_CHARACTERS}
    short = tuple(column for column in PEOPLE if any(len(each) < FEWEST_ID_CHARACTERS for each in ids[column]))
    return Traces(frozenset(texts), tuple(sorted(long)), tuple(sorted(long_ids)), short)


def remove_lines(folder: Path, traces: Traces) -> tuple[int, tuple[str, ...]]:
    """Take a person's lines, and the feedback on them, out of a folder of logs.

    Nobody may write there meanwhile. A file is replaced as a whole, or not at all.

    Returns:
        The number of lines, and a sentence on each file that cannot be read or written; the others are done.
    """
    if not folder.is_dir():
        return 0, ()
    removed = 0
    unreached: list[str] = []
    logs = [file for file in sorted(folder.iterdir()) if file.suffix in KINDS and not file.name.startswith(".")]
    requests = _requests(logs, traces)
    # Feedback first: a kill between would leave it without the line that finds it.
    for file in (*sorted((folder / FEEDBACK_FOLDER).glob(f"[!.]*{FEEDBACK_SUFFIX}")), *logs):
        try:
            removed += _of_parquet(file, traces) if file.suffix == ".parquet" else _of_lines(file, traces, requests)
        except OSError as error:
            unreached.append(f"the log {file} cannot be read or written ({error.strerror})")
        except InputError as error:
            unreached.append(str(error))
    return removed, tuple(unreached)


def _requests(logs: Iterable[Path], traces: Traces) -> set[str]:
    """Return the requests whose lines are theirs; logs that cannot be read are passed over."""
    requests: set[str] = set()
    for file in logs:
        if file.suffix != ".parquet":
            with suppress(OSError):
                for line in file.read_bytes().splitlines(keepends=True):
                    _is_theirs(line, traces, requests)
    return requests


def _of_lines(file: Path, traces: Traces, requests: set[str]) -> int:
    lines = file.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if not _is_theirs(line, traces, requests)]
    if len(kept) < len(lines):
        replace_whole(file, b"".join(kept))
    return len(lines) - len(kept)


def _is_theirs(line: bytes, traces: Traces, requests: set[str]) -> bool:
    """Return whether a line is theirs, and add the request that it was to those whose feedback is theirs too."""
    try:
        document: Any = json.loads(line)
    except ValueError:
        # A line that was cut off, or is none of ours, may hold their words all the same.
        document = None
    if not isinstance(document, dict):
        # An escaped line break before an id would be a letter before it.
        return traces.are_in([_ESCAPED_SPACE.sub(" ", line.decode(errors="replace"))], None)
    request, prompt = document.get("request_id"), document.get("prompt")
    theirs = request in requests or traces.are_in(_texts(document), prompt if isinstance(prompt, str) else None)
    if theirs and isinstance(request, str):
        requests.add(request)
    return theirs


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, str):
        yield value
        if value[:1] in {"{", "[", '"'}:
            # An answer, or a trace's attribute, is JSON in JSON, whose letters may be escaped.
            with suppress(ValueError, RecursionError):
                yield from _texts(json.loads(value))


def _of_parquet(file: Path, traces: Traces) -> int:
    import polars as pl
    from polars.exceptions import PolarsError

    try:
        table = pl.read_parquet(file, glob=False)
    except (OSError, PolarsError):
        raise InputError(f"the log {file} cannot be read as parquet; repair or remove it") from None
    theirs = [traces.are_in(_texts(row), row.get("prompt")) for row in table.to_dicts()]
    if any(theirs):
        content = io.BytesIO()
        table.filter(~pl.Series(theirs)).write_parquet(content)
        replace_whole(file, content.getvalue())
    return sum(theirs)


def holds_them(answers: Path, traces: Traces) -> bool:
    """Return whether a table of production's answers, which has no ids, has any of theirs.

    Raises:
        InputError: It cannot be read.
    """
    import polars as pl
    from polars.exceptions import PolarsError

    try:
        table = pl.read_parquet(answers, glob=False)
    except (OSError, PolarsError):
        raise InputError(f"{answers} cannot be read as parquet") from None
    return any(traces.are_in(_texts(row), row.get("prompt")) for row in table.to_dicts())


def _has_token(text: str, identifier: str) -> bool:
    """Return whether an id stands in a text by itself, not within a longer word or number."""
    return identifier in text and re.search(rf"(?<![\w-]){re.escape(identifier)}(?![\w-])", text) is not None


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
