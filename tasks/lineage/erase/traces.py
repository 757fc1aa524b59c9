"""Traces of a person where no id links a line to anybody: their ids and their texts, in every form that logs have.

An id may stand there as the user gives it, where artifacts only have its pseudonym. A text may be scrubbed of personal
data there or here, and asked about with other words around it. Words that somebody else wrote too, and words shorter
than `FEWEST_CHARACTERS`, tell nobody apart; nor do ids shorter than `FEWEST_ID_CHARACTERS`, which prices, times and
digests have in them too.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from schemas.store.store import Person
from tasks.commerce.shortcuts import FREE_TEXT
from tasks.lineage.graph.rows import PEOPLE, PROMPTS
from tasks.lineage.store.inventory import Inventory

FEWEST_CHARACTERS: Final = 20
FEWEST_ID_CHARACTERS: Final = 8
WORDS: Final = ("prompt", "review_comment_message")
"""Columns of artifacts with the words of a person's rows."""
MOST_PARTS: Final = 5
"""Most parts, between spaces, of a number that people write."""
_PLACEHOLDER: Final = re.compile(r"\[\w+\]")
_TOKEN: Final = re.compile(r"[\w.+@/'-]+")
# Begins where no other sign is before it: in a long row of signs, each would be read to the row's end.
_NUMBER: Final = re.compile(r"(?<![+(])[+(]*\d[\d ().+/-]+\d")

FoundBy = Literal["id", "text", "doubtful"]
"""What finds a line: an id, the text alone, or a text that may be somebody else's."""


@dataclass(frozen=True)
class Forms:
    """Forms in which a state folder writes what people wrote."""

    scrub: Callable[[str], str]
    """Replaces personal data in a text, as in logs and datasets."""
    pseudonym: Callable[[str], str] | None = None
    """Returns what an id is called in artifacts; None where no ids have pseudonyms."""


@dataclass(frozen=True)
class Traces:
    """What finds a person where there are no ids; texts and ids are folded."""

    exact: frozenset[str]
    """Prompts, and texts that prompts are about, which nobody else has."""
    words: tuple[str, ...]
    """Texts long enough to be one person's also within others."""
    ids: tuple[str, ...]
    """Ids that are long enough to be one person's."""
    unsearched: tuple[str, ...] = ()
    """A sentence on each column whose ids are too short to be looked for."""
    masked: frozenset[str] = frozenset()
    """Those of the words that are known scrubbed only."""
    doubtful: frozenset[str] = frozenset()
    """Prompts and texts of theirs that somebody else has too, or that are too short."""
    forms: Forms = Forms(str)

    def are_in_json(self, text: str) -> bool:
        """Return whether a JSON document has any of theirs."""
        return self.found(texts_of(text), None) in {"id", "text"}

    def found(self, texts: Iterable[str], prompt: str | None) -> FoundBy | None:
        """Return what finds a line as theirs; None if nothing does."""
        raw = tuple(texts)
        whole = "\n".join(map(_folded, raw))
        if any(_has_token(whole, each) for each in self.ids) or self._has_pseudonym(whole):
            return "id"
        asked = {_folded(each) for each in (prompt, _body_of(prompt)) if each} if prompt is not None else set()
        if not asked.isdisjoint(self.exact) or any(self._are_in(words, whole, raw) for words in self.words):
            return "text"
        return "doubtful" if not asked.isdisjoint(self.doubtful) else None

    def _has_pseudonym(self, whole: str) -> bool:
        pseudonym = self.forms.pseudonym
        return pseudonym is not None and any(pseudonym(each) in self.ids for each in _candidates(whole))

    def _are_in(self, words: str, whole: str, texts: Iterable[str]) -> bool:
        """Return whether words stand in a line; words that are known scrubbed only also in one as it was written."""
        if _has_token(whole, words):
            return True
        if words not in self.masked or not all(part in whole for part in _literal(words)):
            return False
        return any(words in _folded(self.forms.scrub(text)) for text in texts)


def traces_of(inventory: Inventory, person: Person, asked: str, forms: Forms) -> Traces:
    """Return what finds a person, from the artifacts that still have their rows; unreadable ones are passed over."""
    prompts, reviews, others = _texts_in(inventory, person)
    bodies = {body for prompt in prompts if (body := _body_of(prompt))} | reviews
    scrubbed = {text: forms.scrub(text) for text in prompts | bodies}
    theirs = {_folded(form) for pair in scrubbed.items() for form in pair}
    of_others = _others_folded(others, [each for each in theirs if _PLACEHOLDER.search(each)], forms.scrub)
    too_short = {form for body in bodies for form in (_folded(body), _folded(scrubbed[body])) if not _is_long(form)}
    doubtful = (theirs & of_others) | too_short
    words = {each for each in theirs - doubtful if _is_long(each) and not any(each in text for text in of_others)}
    changed = {clean for text, clean in scrubbed.items() if text != clean}
    # Of what is known as it was written, the scrubbed form is among the words already.
    masked = {_folded(text) for text, clean in scrubbed.items() if text == clean and text not in changed}
    columns = person.columns()
    ids = {_folded(asked), *(_folded(each) for values in columns.values() for each in values)}
    short: list[str] = [name for name in PEOPLE if any(len(each) < FEWEST_ID_CHARACTERS for each in columns[name])]
    if len(_folded(asked)) < FEWEST_ID_CHARACTERS and not any(asked in columns[name] for name in PEOPLE):
        short.append("id as it was given")
    unsearched = (
        f"logs and traces were not searched for the {column}, since it is shorter than {FEWEST_ID_CHARACTERS} "
        "characters; lines with their prompts or words were found all the same"
        for column in short
    )
    long_ids = tuple(sorted(each for each in ids if len(each) >= FEWEST_ID_CHARACTERS))
    return Traces(
        frozenset(theirs - doubtful),
        tuple(sorted(words)),
        long_ids,
        tuple(unsearched),
        frozenset(each for each in words & masked if _PLACEHOLDER.search(each)),
        frozenset(doubtful),
        forms,
    )


def _texts_in(inventory: Inventory, person: Person) -> tuple[set[str], set[str], set[str]]:
    """Return the person's prompts, their reviews, and the prompts and reviews of others."""
    import polars as pl
    from polars.exceptions import PolarsError

    own: dict[str, set[str]] = {column: set() for column in WORDS}
    others: set[str] = set()
    by_ids = replace(person, prompts=frozenset())
    files = {
        digest: inventory.folder(record.sha256) / name
        for record in inventory.records.values()
        for name, digest in record.files.items()
        if name.endswith((".csv", ".parquet"))
    }
    for path in files.values():
        try:
            is_csv = path.suffix == ".csv"
            scanned = pl.scan_csv(path, infer_schema=False) if is_csv else pl.scan_parquet(path, glob=False)
            present = scanned.collect_schema().names()
            if not set(WORDS) & set(present):
                continue
            table = scanned.select(name for name in present if name in {*WORDS, *PEOPLE, *PROMPTS}).collect()
        except (OSError, PolarsError):
            continue
        theirs = table.filter(person.theirs(present))
        named = [pl.col(column).is_not_null() for column in PEOPLE if column in present]
        of_others = table.filter(pl.any_horizontal(named) & ~by_ids.theirs(present)) if named else table.clear()
        for column in set(WORDS) & set(present):
            own[column].update(theirs[column].drop_nulls())
            others.update(of_others[column].drop_nulls())
    prompts, reviews = own.values()
    return prompts, reviews, others


def _others_folded(others: Iterable[str], scrubbed: Iterable[str], scrub: Callable[[str], str]) -> set[str]:
    """Return others' texts, folded, with what their prompts are about; scrubbed too where that may be one of some."""
    parts = [literal for each in scrubbed if (literal := _literal(each))]
    found: set[str] = set()
    for text in others:
        forms = [text]
        if any(all(part in _folded(text) for part in literal) for literal in parts):
            forms.append(scrub(text))
        for form in forms:
            found.update((_folded(form), _folded(_body_of(form))))
    return found - {""}


def texts_of(value: Any) -> Iterator[str]:
    """Yield all texts of a JSON value, and those of JSON within a text."""
    if isinstance(value, dict):
        for each in value.values():
            yield from texts_of(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts_of(each)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield str(value)
    elif isinstance(value, str):
        yield value
        if value[:1] in {"{", "[", '"'}:
            # An answer, or a trace's attribute, is JSON in JSON, whose letters may be escaped.
            with suppress(ValueError, RecursionError):
                yield from texts_of(json.loads(value))


def _body_of(prompt: str) -> str:
    """Return what a prompt is about, without the instruction: a review's text, or a shopper's lines."""
    _, _, rest = prompt.partition("\n")
    _, _, review = rest.partition(f"{FREE_TEXT}: ")
    return review or rest


def _folded(text: str) -> str:
    """Return a text without what a log may write otherwise: capitals, and kinds of space."""
    return " ".join(text.casefold().split())


def _candidates(text: str) -> Iterator[str]:
    """Yield what may be an id: every longer word, and every number that is written with spaces."""
    for found in _TOKEN.finditer(text):
        token = found.group().strip(".,/'+-")
        if len(token) >= FEWEST_ID_CHARACTERS:
            yield token
    for found in _NUMBER.finditer(text):
        parts = found.group().split()
        for start in range(len(parts)):
            for end in range(start + 2, min(start + MOST_PARTS, len(parts)) + 1):
                yield " ".join(parts[start:end])


def _literal(words: str) -> list[str]:
    return [part.strip() for part in _PLACEHOLDER.split(words) if part.strip()]


def _is_long(words: str) -> bool:
    """Return whether words are long enough to be one person's, without what stands for personal data."""
    return sum(map(len, _literal(words))) >= FEWEST_CHARACTERS


def _has_token(text: str, words: str) -> bool:
    """Return whether words or an id stand in a text by themselves, not within a longer word or number."""
    return words in text and re.search(rf"(?<![\w-]){re.escape(words)}(?![\w-])", text) is not None
