"""Reading of an analysis, sentence by sentence: what it quotes of the table, what it claims, and what it recommends."""

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from tasks.commerce.insights.advice import Advice, advice_from, credit_noun, read_advice
from tasks.commerce.insights.assertions import HEDGES
from tasks.commerce.insights.claim_reader import read_claims
from tasks.commerce.insights.claims import Claims
from tasks.commerce.insights.figures import Figures, read_figures
from tasks.commerce.insights.harm import SLURS, begins_harm
from tasks.commerce.insights.idleness import Idleness, read_idleness, words_given
from tasks.commerce.insights.inventions import inventions, scoped, wrong_verdicts
from tasks.commerce.insights.sentences import (
    LONGEST_KEPT,
    MAX_SENTENCES,
    MAX_TOKENS,
    AnalysisLine,
    AnalysisSentence,
    SentencePlace,
    sentence_of,
    split_line,
)
from tasks.commerce.insights.speech import is_known, names_among, strange_words
from tasks.commerce.insights.table import SHORT_MONTHS, Table, period_of
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.text_form import KEPT_PROMPTS, fold, words

DATA_FILES: Final = (
    "data/lexicons/categories.txt",
    "data/lexicons/column_phrases.txt",
    "data/lexicons/states.txt",
)
FALSE: Final = 0.62
"""What a false number, a false claim, an invented cause, a forecast or a row of no table leaves of a reward."""
UNSENDABLE: Final = 0.42
"""What harmful advice, or a denial of the table, leaves of it."""
NO_ADVICE: Final = 0.93
"""What a recommended verb that is none of an analysis leaves."""
UNFIT: Final = 0.88
"""What advice to mend the best leaves."""
STRANGE: Final = (1.0, 0.99, 0.97, 0.94, 0.88, 0.8, 0.7, 0.58)
"""What strange words leave, by their number; a name with a capital letter counts twice."""
IN_SERIES: Final = 0.85
"""Least worth of a figure beside which another row's of its column is quoted."""
RELATED: Final = 0.8
"""Grade of one finding that relates rows without a number of its own: `quase o triplo de brinquedos`."""


_CODE: Final = re.compile(r"\b[A-Z]{2}\b")
_STATES: Final = dict(line.split(" = ") for line in read_lexicon("states"))
_STATE_NAMES: Final = re.compile(rf"\b(?:{'|'.join(sorted(_STATES.values(), key=len, reverse=True))})\b")
_STATE_WORDS: Final = frozenset(words(name)[-1] for name in _STATES.values())
"""Words without which no state is named."""
_CATEGORIES: Final = frozenset(
    word
    for line in read_lexicon("categories")
    for word in words(line.partition(" = ")[2] or line)
    if not is_known(word)
)
_GROUPS: Final = frozenset({"feira", "sabado", "domingo", "credito", "debito", "boleto"})
"""Rows of tables by weekday or payment, which are named as such and not as a thing that a shop has."""
_MONTHS: Final = frozenset(SHORT_MONTHS.values())


@dataclass(slots=True)
class AnalysisReading:
    """An analysis, or one line of it, read by its table."""

    table: Table
    figures: Figures = field(default_factory=Figures)
    claims: Claims = field(default_factory=Claims)
    advice: Advice = field(default_factory=Advice)
    foreign: int = 0
    """Rows and periods that are none of the table's."""
    idleness: Idleness = field(default_factory=Idleness)
    strange: int = 0
    invented: int = 0
    """What the table cannot know, said as a fact."""
    sentences: int = 0
    carries: tuple[int | None, int | None] = (None, None)
    """The row and the column that a sentence leaves to the next one."""

    def add(self, part: "AnalysisReading") -> None:
        """Add the reading of a sentence."""
        if part.figures.read or part.figures.false:
            self.figures.add(part.figures)
        self.claims.add(part.claims)
        self.advice.add(part.advice)
        self.foreign += part.foreign
        self.idleness.add(part.idleness)
        self.invented += part.invented

    def coverage(self, enough: int) -> float:
        """Return how well the best `enough` findings are quoted, in [0, 1]."""
        table = self.table
        compared = {table.places[cell] for cell in self.claims.true | self.figures.compared if cell in table.places}
        columns = [table.columns_of_facts[place] for place in self.figures.grades]
        grades = [
            max(
                grade * (1.0 if place in compared else table.worths[place]),
                grade * IN_SERIES * (columns.count(column) > 1),
            )
            for (place, grade), column in zip(self.figures.grades.items(), columns, strict=True)
        ]
        grades += [1.0] * len(self.figures.derived) + [RELATED] * (self.claims.related > 0)
        return min(sum(sorted(grades)[-enough:]) / enough, 1.0)

    def sound(self) -> float:
        """Return what its faults leave of a reward, in [0, 1]."""
        claims, advice = self.claims, self.advice
        false = len(self.figures.false) + len(claims.false) + claims.causes + claims.forecasts
        false += self.foreign + self.invented + advice.senseless
        left: float = FALSE**false * UNSENDABLE ** (advice.harmful + claims.denials)
        left *= NO_ADVICE ** len(advice.unknown) * UNFIT**advice.unfit
        return (
            left
            * self.idleness.left()
            * (
                STRANGE[self.strange]
                if self.strange < len(STRANGE)
                else STRANGE[-1] * 0.85 ** (self.strange - len(STRANGE) + 1)
            )
        )


def read_analysis(
    text: str,
    folded: str,
    lines: Sequence[AnalysisLine],
    present: set[str],
    prompt: str,
    table: Table,
    headings: Sequence[bool],
    items: AbstractSet[int],
) -> AnalysisReading:
    """Read an analysis by its table.

    Args:
        text: The analysis, with the table's states by their codes.
        folded: The analysis in `lower_case`.
        lines: Its lines.
        present: Its words.
        prompt: The prompt.
        table: The table of the reference.
        headings: Of each line, whether it is a heading.
        items: Lines that are list items.
    """
    reading = AnalysisReading(table)
    strange = strange_words(list(present), words_given(prompt))
    reading.strange = len(strange) + names_among(text, folded, strange)
    count = 0
    heading_row = heading_column = row = None
    for number, line in enumerate(lines):
        heading = number < len(headings) and headings[number]
        of_line = LinePlace(
            heading,
            number in items,
            heading_row if heading_row is not None else row,
            heading_column if heading_row is not None else None,
            heading_row is not None,
            min(MAX_SENTENCES - count, len(line.ends)),
        )
        read_line = _read_line if len(line.text) <= LONGEST_KEPT else _read_line.__wrapped__
        part = read_line(line.text, of_line, prompt, table)
        reading.add(part)
        row = part.carries[0]
        if heading:
            heading_row, heading_column = part.carries
        count += part.sentences
    reading.advice.harmful += not SLURS.isdisjoint(present)
    reading.foreign += _foreign_states(text, table, present, bool(strange))
    return reading


class LinePlace(NamedTuple):
    """What a line needs to know of its text."""

    heading: bool
    item: bool
    row: int | None
    """The row that it begins with, of a heading or the line before."""
    column: int | None
    from_heading: bool
    limit: int
    """Sentences that are read."""


@lru_cache(maxsize=KEPT_PROMPTS)
def _read_line(text: str, of_line: LinePlace, prompt: str, table: Table) -> AnalysisReading:
    """Return the reading of one line, which must not be changed: answers to a prompt share many of them."""
    reading = AnalysisReading(table)
    line = split_line(text)
    reading.carries = of_line.row, of_line.column
    in_line, opens, comments, start = of_line.from_heading, of_line.item, of_line.from_heading, 0
    for end in line.ends:
        if start < end and reading.sentences < of_line.limit:
            asks = end < len(line.tokens) and line.tokens[end] == "?"
            place = SentencePlace(of_line.heading, asks, opens, *reading.carries, in_line, comments)
            sentence = sentence_of(line.tokens[start : min(end, start + MAX_TOKENS)], table, place)
            _read_sentence(sentence, prompt, reading)
            in_line, opens = in_line or bool(sentence.rows), False
            comments = comments or bool(sentence.rows or sentence.columns or sentence.numbers)
            reading.sentences += 1
        start = end + 1
    return reading


def _read_sentence(sentence: AnalysisSentence, prompt: str, reading: AnalysisReading) -> None:
    """Add the reading of one sentence to that of its line."""
    table, figures, claims = reading.table, Figures(), reading.claims
    judged_before = claims.judged
    given = words_given(prompt)
    months, years = period_of(prompt)
    start = advice_from(sentence)
    read_figures(sentence, table, start, years, figures)
    read_claims(sentence, table, start, figures, claims)
    column = next(reversed(figures.columns.values()), sentence.carried_column)
    reading.carries = sentence.row_carried(), sentence.columns[-1][1] if sentence.columns else column
    is_judged = claims.judged > judged_before or figures.read > 0
    reading.invented += inventions(sentence, table, start, is_judged)
    if figures.read or figures.false:
        reading.figures.add(figures)
        reading.invented += scoped(sentence, table, start, given)
        reading.invented += wrong_verdicts(sentence, table, figures.cells)
    if len(sentence.rows) > 1 and not sentence.heading and claims.judged == judged_before:
        reading.idleness.unproved += _leaves_a_row(sentence, start, figures)
    advises = True
    if not (sentence.heading or sentence.asks or is_judged):
        advises = read_idleness(sentence, table, start, prompt, reading.idleness)
    _read_advice(sentence, start, advises, reading)
    reading.foreign += _names_foreign(sentence, table, start, given, months)


def _read_advice(sentence: AnalysisSentence, start: int, advises: bool, reading: AnalysisReading) -> None:
    """Add what a sentence recommends; where it advises nothing that one can do, only its faults."""
    advice = reading.advice if advises else Advice()
    if start < len(sentence.tokens):
        read_advice(sentence, reading.table, start, advice)
    elif begins_harm(sentence.tokens):
        advice.harmful += 1
    elif not HEDGES.isdisjoint(sentence.tokens):
        credit_noun(sentence.tokens, advice)
    if not advises:
        advice.verbs.clear()
        reading.advice.add(advice)


def _leaves_a_row(sentence: AnalysisSentence, start: int, figures: Figures) -> bool:
    """Return whether a sentence with figures names a row that none of them is of, and claims nothing of it."""
    cells = {row for row, _ in figures.cells}
    named = set[int]()
    for there, row in sentence.rows:
        if there < start and row not in cells and cells.isdisjoint(sentence.group(there)):
            named.add(row)
    return bool(cells) and len(cells) < figures.read + 1 and len(figures.cells) == figures.read and bool(named)


def _names_foreign(
    sentence: AnalysisSentence, table: Table, start: int, given: frozenset[str], months: frozenset[str]
) -> bool:
    """Return whether a sentence speaks of a group or a month that its table does not have."""
    if _PERHAPS_FOREIGN.isdisjoint(sentence.tokens):
        return False
    if "ano" in sentence.tokens and not _PAST.isdisjoint(sentence.tokens[sentence.tokens.index("ano") :][:3]):
        return True  # No table has the year before.
    for place, token in enumerate(sentence.tokens[:start]):
        if token in _MONTHS:
            if months and token[:3] not in months and token not in table.row_words:
                return True
        elif ((token in _GROUPS or token in _CATEGORIES) and token not in given and not sentence.rows) or (
            token in _PAST
            and not table.times
            and sentence.tokens[place - 1 : place]
            and sentence.tokens[place - 1] in _SPANS
        ):
            return True
    return False


_PAST: Final = frozenset({"anterior", "anteriores", "passado", "passada", "retrasado"})
_PERHAPS_FOREIGN: Final = _MONTHS | _GROUPS | _CATEGORIES | _PAST
_SPANS: Final = frozenset({"mes", "ano", "trimestre", "semestre", "periodo", "semana", "meses", "anos"})


def _foreign_states(text: str, table: Table, present: set[str], strange: bool) -> int:
    """Count the states that a text names and its table has not; their full names are strange words."""
    found = set[str]()
    if not _FOLDED_CODES.isdisjoint(present):
        found.update(code for code in _CODE.findall(text) if code in _STATES)
    if strange and not _STATE_WORDS.isdisjoint(present):
        found.update(_STATE_NAMES.findall(text))
    return len(found.difference(table.names))


_FOLDED_CODES: Final = frozenset(map(str.lower, _STATES))


def lower_case(text: str) -> str:
    """Return a text folded, with dashes and arrows as marks, and phrases that name a column as its word."""
    if not text.isascii():
        for sign, mark in _MARKS.items():
            text = text.replace(sign, mark)
    folded = fold(text)
    if "-l" in folded:
        folded = _ENCLITIC.sub(r"\1r", folded)
    for beginning, pattern in _PHRASES.items():
        if beginning in folded:
            folded = pattern.sub(_name_column, folded)
    return folded


def _name_column(match: re.Match[str]) -> str:
    return match[0] if match.string[match.start() - 1 : match.start()].isalnum() else _COLUMN_PHRASES[match[0]]


_ENCLITIC: Final = re.compile(r"([aei])-l[oa]s?\b")
"""`colocá-los`, `oferecê-la`."""
_MARKS: Final = {" – ": " , ", " — ": " , ", "→": " : ", "⇒": " : "}
_COLUMN_PHRASES: Final = {
    fold(phrase): fold(name) for phrase, _, name in (line.partition(" = ") for line in read_lexicon("column_phrases"))
}
_LONGEST: Final = sorted(_COLUMN_PHRASES, key=len, reverse=True)
_PHRASES: Final = {
    beginning: re.compile(
        # The beginning first, which is found faster than a choice.
        rf"{beginning}(?:{'|'.join(p.removeprefix(beginning) for p in _LONGEST if p.startswith(beginning))})\b"
    )
    for beginning in sorted({" ".join(phrase.split()[:2]) for phrase in _COLUMN_PHRASES})
}
