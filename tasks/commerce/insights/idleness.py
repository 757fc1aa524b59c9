"""Idleness of an analysis: sentences that say nothing of the table, or nothing that it proves or a manager can do.

Advice is idle that names no object of the table or the shop: only all of it (`revisar tudo`, `cada ponto`), what it was
to look at anyway (`a situação`, `os resultados`), or nothing. Behind a finding, which is its object, it may name none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from tasks.commerce.insights.advice import is_verb_of_advice
from tasks.commerce.insights.assertions import HEDGES
from tasks.commerce.insights.sentences import AnalysisSentence, words_among
from tasks.commerce.insights.speech import CONDITIONALS, VERDICTS, strange_words, word_classes
from tasks.commerce.insights.table import SHORT_MONTHS, Table
from tasks.commerce.text.text_form import KEPT_PROMPTS, words
from tasks.commerce.text.vocabulary import CLOSED_CLASS
from tasks.commerce.text.wordings import read_wording

DATA_FILES: Final = ("data/lexicons/idle_advice.txt", "data/wordings/insights.toml")
IDLE: Final = 0.88
"""What each sentence leaves that names nothing of the table and recommends nothing."""
IDLE_STRANGE: Final = 0.7
"""What each of them leaves that is in strange words, or repeats the instruction."""
UNPROVED: Final = 0.68
"""What each sentence leaves that says something of a row or a column without a number or a claim that can be judged,
and each list item that begins with an idle sentence."""
STRANGER: Final = 0.78
"""What each of those leaves that says it in strange words."""
IDLE_IN_LINE: Final = 0.4
"""How idle a sentence is that comments a finding of its line, and a closing word such as `vale acompanhar`."""
OWN_WORDS: Final = 2
"""Words beside the names of rows and columns with which a sentence states something."""
LABEL: Final = 6
"""Words up to which a line that ends in a colon is a label."""
_STEM: Final = 5
"""Letters of an instruction's word by which it is told from others."""


@dataclass(slots=True)
class Idleness:
    """Idle sentences of a text."""

    idle: float = 0.0
    """Sentences that name nothing of the table; less where they comment a finding of their line."""
    idle_strange: int = 0
    unproved: int = 0
    """Sentences that say something of the table that nothing proves."""
    unproved_strange: int = 0
    """Those of them in strange words."""

    def add(self, other: "Idleness") -> None:
        """Add the sentences of a line."""
        self.idle += other.idle
        self.idle_strange += other.idle_strange
        self.unproved += other.unproved
        self.unproved_strange += other.unproved_strange

    def left(self) -> float:
        """Return what they leave of a reward, in [0, 1]."""
        left: float = IDLE_STRANGE**self.idle_strange * IDLE**self.idle * UNPROVED**self.unproved
        return left * STRANGER**self.unproved_strange


def read_idleness(sentence: AnalysisSentence, table: Table, start: int, prompt: str, idleness: Idleness) -> bool:
    """Judge a sentence without a number or a claim that can be judged; return whether it may advise something.

    Args:
        sentence: The sentence, which asks nothing and is no heading.
        table: The table.
        start: The place from which it recommends.
        prompt: The prompt.
        idleness: Receives what is found.
    """
    if sentence.rows or sentence.columns:
        _read_unproved(sentence, table, start, words_given(prompt), idleness)
        return True
    if sentence.tokens[-1] == ":" and len(sentence.tokens) <= LABEL and not _is_strange(sentence, words_given(prompt)):
        return True
    content = [token for token in sentence.tokens if len(token) > 2 and token.isalpha() and token not in CLOSED_CLASS]
    if len(content) > 1 and not VERDICTS.issuperset(content) and _repeats(content, prompt):
        idleness.idle_strange += 1
        return False
    if start == len(sentence.tokens):
        _read_idle(sentence, content, words_given(prompt), idleness)
        return True
    idle, advises = _idle_advice(sentence, start)
    idleness.idle += idle
    return advises


def _read_unproved(
    sentence: AnalysisSentence, table: Table, start: int, given: frozenset[str], idleness: Idleness
) -> None:
    """Judge a sentence that says something of a row or a column, unless it only gives a verdict."""
    own = _own_words(sentence, table, start)
    enough = OWN_WORDS if len({row for _, row in sentence.rows}) < 2 else 1
    if len(own) >= enough:
        if VERDICTS.issuperset(own):
            idleness.idle += IDLE_IN_LINE
        else:
            idleness.unproved += 1
            idleness.unproved_strange += _is_strange(sentence, given)


def _idle_advice(sentence: AnalysisSentence, start: int) -> tuple[float, bool]:
    """Return how idle advice is that names no row, column or number, and whether it may count as advice."""
    said = [word for word in sentence.tokens[start:] if word.isalpha() and not is_verb_of_advice(word)]
    if sentence.numbers or not _VAGUE.issuperset(said):
        return 0.0, True
    if not _WHOLE.isdisjoint(said):
        return 1.0, False
    if not _OBJECTS.isdisjoint(said):
        return IDLE_IN_LINE if sentence.comments else 1.0, False
    return 0.0 if sentence.comments else 1.0 if sentence.opens_item else IDLE_IN_LINE, True


def _read_idle(sentence: AnalysisSentence, content: Sequence[str], given: frozenset[str], idleness: Idleness) -> None:
    """Judge a sentence that names nothing of the table and recommends nothing; months of the period are something."""
    if not _SUPPOSING.isdisjoint(sentence.tokens) or (sentence.comments and VERDICTS.issuperset(content)):
        return
    if _is_strange(sentence, given):
        idleness.idle_strange += 1
    elif _MONTHS.isdisjoint(sentence.tokens):
        if sentence.opens_item:
            idleness.unproved += 1
        else:
            idleness.idle += IDLE_IN_LINE if sentence.comments else 1.0


def _is_strange(sentence: AnalysisSentence, given: frozenset[str]) -> bool:
    return bool(strange_words(words_among(sentence.tokens), given))


def _own_words(sentence: AnalysisSentence, table: Table, start: int) -> list[str]:
    """Return the words beside the names of rows and columns with which a sentence states something of them."""
    stated = sentence.tokens[:start]
    if not _SUPPOSING.isdisjoint(stated) or not any(there < start for there, _ in [*sentence.rows, *sentence.columns]):
        return []
    named = table.row_words.keys() | table.column_words.keys() | table.words
    return [token for token in stated if len(token) > 2 and token.isalpha() and token not in named]


@lru_cache(maxsize=KEPT_PROMPTS)
def words_given(prompt: str) -> frozenset[str]:
    """Return a prompt's words."""
    return frozenset(words(prompt))


@lru_cache(maxsize=KEPT_PROMPTS)
def _instruction(prompt: str) -> frozenset[str]:
    """Return the beginnings of the words with which the system and the prompt say what to do."""
    lines = (line for line in prompt.split("\n") if "|" not in line and not line.startswith("Período"))
    said = words(" ".join((read_wording("insights").system, *lines)))
    return frozenset(word[:_STEM] for word in said)


def _repeats(content: Sequence[str], prompt: str) -> bool:
    return _instruction(prompt).issuperset(word[:_STEM] for word in content)


_WORDS: Final = word_classes("idle_advice")
_WHOLE: Final = _WORDS["whole"]
_OBJECTS: Final = _WORDS["objects"]
_VAGUE: Final = _WHOLE | _OBJECTS | _WORDS["manner"] | CLOSED_CLASS
_SUPPOSING: Final = HEDGES | CONDITIONALS
_MONTHS: Final = frozenset(SHORT_MONTHS.values())
