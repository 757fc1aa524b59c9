"""Quotations of a table's facts in a text: each number must stand with the row and the words that it belongs to.

A fact is `row: statement`, such as `SP: receita de R$ 57.053`; one without a row belongs to no row and may stand
anywhere, and one that is a bare number is its own statement. A number in a text belongs to

- the row that follows it within a few words and after a preposition (`19,3% de atrasos em BA`); else
- the row that was named last before it in its sentence; else the first that the sentence names; else the last that was
  named at all, as a heading or a beginning does.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from tasks.commerce.text.portuguese_numbers import numbers_in, numbers_of
from tasks.commerce.text.text_form import FUNCTION_WORDS, KEPT_PROMPTS, content_words, labels, ramp, share_present

REACH: Final = 5
"""Words between a number and the row that follows it with a preposition."""
MAX_MARKS: Final = 40
"""Numbers, and names of rows, read in one sentence."""
PLACES: Final = 9
"""Decimals to which a fact's number is rounded: 0.1 + 0.2 must equal a text's 0,3."""

_TOKEN: Final = re.compile(r"r\$|[a-z]+|\d+(?:[.,]\d+)*|%|\n|[.!?;](?=\s)|[^\W\d_a-z]+")
_ENDS: Final = frozenset("\n.!?;")
_JOINING: Final = frozenset({"em", "no", "na", "nos", "nas", "de", "do", "da", "dos", "das", "para"})
_PARTING: Final = frozenset({"e", "mas", "ou", "enquanto", "contra"})

Fact = str | int | float


def tokens_of(folded: str) -> list[str]:
    """Return a folded text's words, and the ends of its sentences and lines."""
    return _TOKEN.findall(folded)


def words_among(tokens: Iterable[str]) -> list[str]:
    """Return the words alone."""
    return [piece for piece in tokens if piece not in _ENDS]


@dataclass(frozen=True)
class KnownFact:
    """One fact, parsed once for all answers to a prompt."""

    row: str | None
    numbers: frozenset[float]
    labels: tuple[str, ...]
    """The words and signs of its statement."""
    row_words: tuple[str, ...]


@dataclass(frozen=True)
class KnownFacts:
    """All facts of one reference."""

    facts: tuple[KnownFact, ...]
    rows: dict[str, str]
    """The row that a word names."""
    places: dict[tuple[str | None, float], tuple[int, ...]]
    """Facts with a number, by row."""
    numbers: frozenset[float]
    any_row: bool
    """Whether some facts are of no row."""
    words: frozenset[str]
    """All words of the facts, and function words."""
    statements: tuple[int, ...]
    """Facts without a number."""


@dataclass
class Quotations:
    """Quotations of the facts in a text."""

    grades: list[float]
    """Grade of each fact, in [0, 1]: its numbers, and the words that they belong to."""
    wrong: set[float] = field(default_factory=set)
    """Numbers attributed to a row that belong to another row."""
    unknown: set[float] = field(default_factory=set)
    """Numbers in no fact."""


@lru_cache(maxsize=KEPT_PROMPTS)
def know(facts: tuple[Fact, ...]) -> KnownFacts:
    """Parse the facts of a reference."""
    known = tuple(_know(fact) for fact in facts)
    places: dict[tuple[str | None, float], tuple[int, ...]] = {}
    for index, fact in enumerate(known):
        for number in fact.numbers:
            places[fact.row, number] = (*places.get((fact.row, number), ()), index)
    numbers = frozenset(number for _, number in places)
    statements = tuple(index for index, fact in enumerate(known) if not fact.numbers)
    said = frozenset(FUNCTION_WORDS).union(*(fact.labels + fact.row_words for fact in known))
    return KnownFacts(
        known, _row_words(known), places, numbers, any(fact.row is None for fact in known), said, statements
    )


@lru_cache(maxsize=KEPT_PROMPTS)
def words_of_name(name: str) -> tuple[str, ...]:
    """Return the content words of a row's name; rows are few, and meet in many tables."""
    return tuple(content_words(name))


@lru_cache(maxsize=KEPT_PROMPTS)
def read_statement(statement: str) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """Return a statement's numbers, and the words and signs that they belong to."""
    return tuple(numbers_in(statement)), tuple(labels(statement))


def _know(fact: Fact) -> KnownFact:
    if not isinstance(fact, str):
        return KnownFact(None, frozenset({_rounded(float(fact))}), (), ())
    name, colon, statement = fact.partition(": ")
    row, text = (name, statement) if colon and words_of_name(name) else (None, fact)
    numbers, said = read_statement(text)
    return KnownFact(row, frozenset(map(_rounded, numbers)), said, words_of_name(row or ""))


def _row_words(facts: Iterable[KnownFact]) -> dict[str, str]:
    """Return the row of each word that names one; a word shared by several rows names none of them.

    A row whose words all occur in other rows too, as `ferramentas` in `ferramentas de jardim`, is named by them.
    """
    rows = {fact.row: [word for word in fact.row_words if word.isalpha()] for fact in facts if fact.row}
    shared = {word for word, times in Counter(word for names in rows.values() for word in names).items() if times > 1}
    own = {row: [word for word in names if word not in shared] or names for row, names in rows.items()}
    exact = {word: row for row, names in own.items() for word in names}
    similar = {form: row for row, names in own.items() for word in names for form in _forms(word) if form not in shared}
    return similar | exact


def _forms(word: str) -> Iterator[str]:
    if len(word) > 3:
        yield from (word.removesuffix("s"), f"{word}s")


def _rounded(number: float) -> float:
    return round(number, PLACES)


def read_quotations(tokens: Sequence[str], known: KnownFacts) -> Quotations:
    """Compare a text's numbers with the facts.

    Args:
        tokens: The text's `tokens_of`.
        known: The facts.
    """
    quotations = Quotations([0.0] * len(known.facts))
    rows = known.rows
    row: str | None = None
    start, mentions, numbers = 0, list[tuple[int, str]](), list[int]()
    # Signs, digits and ends sort before letters: one comparison skips most words.
    marks = [(place, piece) for place, piece in enumerate(tokens) if piece < "a" or piece in rows]
    marks.append((len(tokens), "\n"))
    for place, piece in marks:
        if piece in _ENDS:
            if numbers or known.statements:
                found = _read_numbers(numbers[:MAX_MARKS], tokens, mentions[:MAX_MARKS], row, known, quotations)
                _grade(found, set(tokens[start:place]), known, quotations)
                numbers = []
            if mentions:
                row = mentions[-1][1]
                mentions = []
            start = place + 1
        elif piece in rows:
            mentions.append((place, rows[piece]))
        elif piece[0].isdigit():
            numbers.append(place)
    return quotations


def _read_numbers(
    numbers: Sequence[int],
    tokens: Sequence[str],
    mentions: Sequence[tuple[int, str]],
    row: str | None,
    known: KnownFacts,
    quotations: Quotations,
) -> dict[int, int]:
    """Count a sentence's right numbers by fact, and collect its false ones.

    Args:
        numbers: Positions of numbers in the sentence.
        tokens: The whole text.
        mentions: Positions of row names in the sentence.
        row: The last row named before the sentence.
        known: The facts.
        quotations: Receives the false numbers.
    """
    found: dict[int, int] = {}
    for place in numbers:
        owner = _owner(place, tokens, mentions) or row
        for number in numbers_of(tokens[place]):
            held = known.places.get((owner, number), ())
            if owner and known.any_row:
                held += known.places.get((None, number), ())
            for index in held:
                found[index] = found.get(index, 0) + 1
            if not held and (owner or number not in known.numbers):
                (quotations.wrong if number in known.numbers else quotations.unknown).add(number)
    return found


def _grade(found: Mapping[int, int], present: set[str], known: KnownFacts, quotations: Quotations) -> None:
    """Grade the facts that a sentence of these words quotes."""
    for index, count in found.items():
        fact = known.facts[index]
        share = min(count / len(fact.numbers), 1.0)
        near = 1.0 if present.issuperset(fact.labels) else share_present(fact.labels, present)
        _raise(quotations, index, share * (0.4 + 0.6 * near))
    for index in known.statements:
        fact = known.facts[index]
        _raise(quotations, index, ramp(share_present((*fact.row_words, *fact.labels), present), 0.5, 1.0))


def _raise(quotations: Quotations, index: int, grade: float) -> None:
    quotations.grades[index] = max(quotations.grades[index], grade)


def _owner(place: int, tokens: Sequence[str], mentions: Sequence[tuple[int, str]]) -> str | None:
    """Return the row that a number belongs to by its sentence, if that names any."""
    before = None
    for there, named in mentions:
        if there < place:
            before = named
            continue
        between = tokens[place + 1 : there] if there - place <= REACH + 1 else ()
        if between and between[-1] in _JOINING and _PARTING.isdisjoint(between) and not _counts(between):
            return named
        return before or named
    return before


def _counts(between: Sequence[str]) -> bool:
    return any(piece[0].isdigit() for piece in between)
