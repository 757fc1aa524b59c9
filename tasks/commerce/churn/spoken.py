"""Text of a reason as its claims are read: folded words with one space between them, and every number in digits."""

import re
from typing import Final

from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.text_form import fold

DATA_FILES: Final = ("data/lexicons/numerals.txt",)
TEN, HUNDRED, THOUSAND = 10, 100, 1_000
MAX_DIGITS: Final = 4
"""Digits of a number to which a numeral adds: `duzentos e noventa`."""
STOP, PAUSE = ".", ","
"""Marks of the end of a sentence and of a clause, which are words of their own."""
IS: Final = "\x02"
"""Stands for `é`, which a folded text has not apart from `e`."""

_WORD: Final = re.compile(r"r\$|%|\x02|\d+(?:[.,]\d+)*|[^\W\d_]+|[.;:!?\n]+|[,()\u2014\u2013]| - ")
_ASCII_WORD: Final = re.compile(r"r\$|[a-z]+|%|\x02|\d+(?:[.,]\d+)*|[.;:!?\n]+|[,()]| - ")
_IS: Final = re.compile(r"(?<!\w)[éÉ](?!\w)")
_STOPS: Final = ".;:!?\n"
_PAUSES: Final = ",()\u2014\u2013 "
_MARKS: Final = frozenset(_STOPS + _PAUSES)
_NUMERALS: Final = {
    fold(word): int(number) for word, number in (line.split(" = ") for line in read_lexicon("numerals"))
}
_COUNTED: Final = frozenset(("dia", "semana", "mes", "ano", "parcela", "estrela", "real"))
"""Nouns before which `um` and `uma` count."""
_OF: Final = ("dos", "das")
"""Words before which they count too: `um dos três pedidos`."""
_HALF_A_YEAR: Final = ("6", "meses")
_CHANGED: Final = frozenset((*_NUMERALS, "ano", "um", "uma"))
"""Words without which only marks change."""


def tokens(folded: str) -> list[str]:
    """Return the words and marks of a folded text."""
    return (_ASCII_WORD if folded.isascii() else _WORD).findall(folded)


def words_among(read: list[str]) -> list[str]:
    """Return the words among the tokens of a text, as `folded_words` does of the text."""
    return ["e" if word == IS else word for word in read if word[0] not in _MARKS]


def spoken(read: list[str]) -> list[str]:
    """Return the tokens of a text as its claims are read."""
    if _CHANGED.isdisjoint(read):
        return [word if word.isalpha() else _mark(word) for word in read]
    said: list[str] = []
    for word in read:
        if word in _NUMERALS:
            _count(said, _NUMERALS[word])
        elif word == "ano" and said and said[-1] == "meio":
            said[-1:] = _HALF_A_YEAR
        else:
            counts = word in _COUNTED or (word in _OF and said[-2:-1] != ["cada"])
            if counts and said and said[-1] in ("um", "uma"):
                said[-1] = "1"
            said.append(word if word.isalpha() else _mark(word))
    return said


def marked(text: str) -> str:
    """Return a text with `IS` in place of each `é`."""
    return _IS.sub(IS, text) if "é" in text or "É" in text else text


def _mark(word: str) -> str:
    return STOP if word[0] in _STOPS else PAUSE if word[0] in _PAUSES else word


def _count(said: list[str], number: int) -> None:
    """Add a numeral to the number before it (`trezentos e cinquenta e seis`), or begin another."""
    before = said[-2] if len(said) > 1 and said[-1] == "e" else ""
    place = TEN if number < TEN else HUNDRED if number < HUNDRED else THOUSAND
    adds = before.isascii() and before.isdecimal() and len(before) <= MAX_DIGITS
    adds = adds and int(before) >= 2 * TEN and int(before) % place == 0
    if adds and number:
        del said[-1]
        said[-1] = str(int(before) + number)
    else:
        said.append(str(number))
