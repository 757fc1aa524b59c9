"""Tells whether a language model's paraphrase of one sentence still asks for the same.

What is looked at: the sentence's numbers, in digits and in words, its names (quoted text, capitals, identifiers, and
what the reference says is a value), its placeholders, the things it speaks of (`data/paraphrase`), its language and its
length; and that nothing is said but the sentence. All that is compared must be there in the same order: clauses that
change places may change the meaning. A refusal of a good paraphrase costs one more question; a bad one that gets
through costs a wrong reference, so whatever is in doubt is refused.
"""

import re
import tomllib
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from schemas.tasks import TaskName
from tasks.commerce.categories import readable_category
from tasks.commerce.portuguese_numbers import numbers_in
from tasks.commerce.text_form import FUNCTION_WORDS, chatters, content_words, fold, refuses, share_present, words

FILE: Final = Path(__file__).resolve().parents[2] / "data" / "paraphrase" / "portuguese.toml"
MAX_CHARACTERS: Final = 600
"""No sentence is longer; a longer answer is not read."""

_QUOTES: Final = (('"', '"'), ("“", "”"), ("'", "'"), ("«", "»"))
_MARKUP: Final = re.compile(r"[`*#<>|{}\[\]@\\^~]|://|www\.|\*\*")
_QUOTED: Final = r"\"[^\"]*\"|“[^”]*”|«[^»]*»"
_PLACEHOLDER: Final = r"\{[^{}]*\}"
_IDENTIFIER: Final = r"\w*(?:_\w+)+|\b[^\W\d_]*[A-ZÀ-Ý]{2,}\w*|\b[^\W\d_]+\d\w*"
# A capital that opens no sentence; of several such words in a row all are the name.
_PROPER: Final = r"(?<![.?!:] )(?<!^)\b[A-ZÀ-Ý][a-zà-ÿ]+(?: (?:d[aeo]s? )?[A-ZÀ-Ý][a-zà-ÿ]+)*"
_NAME: Final = re.compile("|".join((_QUOTED, _PLACEHOLDER, _IDENTIFIER, _PROPER)))
_SIGN: Final = re.compile(r"%|R\$")
_LITERAL: Final = re.compile(r"'((?:[^']|'')+)'")


@dataclass(frozen=True)
class Sentence:
    """What is to be paraphrased, with what is known of it."""

    task: TaskName
    text: str
    values: tuple[str, ...] = ()
    """Values of the store that the text names, such as a category."""
    pool: tuple[str, ...] = ()
    """All known wordings of the same instruction; empty where each sentence is one of its own."""


@cache
def lists() -> Mapping[str, Any]:
    """Return the instruction to the model and the word lists."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def named_values(sentence: str, reference: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the values that a reference query compares with and that the sentence names, the longest first."""
    literals = {literal.replace("''", "'") for literal in _LITERAL.findall(str(reference.get("sql") or ""))}
    forms = {form for literal in literals for form in (literal, readable_category(literal), literal.replace("_", " "))}
    return tuple(sorted((form for form in forms if _mentions(sentence, form)), key=lambda form: (-len(form), form)))


def tidy(answer: str) -> str:
    """Return an answer without the quotation marks and white space around it."""
    text = unicodedata.normalize("NFC", answer[: MAX_CHARACTERS + 1]).strip()
    for opening, closing in _QUOTES:
        if len(text) > 2 and text.startswith(opening) and text.endswith(closing):
            return text[1:-1].strip()
    return text


def find_fault(sentence: Sentence, text: str) -> str | None:
    """Say in a few words why a text may not stand for a sentence, or None where it may.

    Args:
        sentence: The original.
        text: The answer, tidied: hostile text.
    """
    checks = (
        ("empty", not text),
        ("too long", len(text) > min(max(80, 2 * len(sentence.text)), MAX_CHARACTERS)),
        ("too short", 3 * len(text) < len(sentence.text)),
        (
            "several lines",
            any(unicodedata.category(character).startswith(("C", "Z")) and character != " " for character in text),
        ),
    )
    for reason, applies in checks:
        if applies:
            return reason
    # From here on the text is short, so that no pattern can take long.
    return _fault_of_content(sentence, text)


def _fault_of_content(sentence: Sentence, text: str) -> str | None:
    source, folded = sentence.text, fold(text)
    if _chatters(source, text, folded):
        return "chatter"
    if _in_words(_numbers_in_words(), source) != _in_words(_numbers_in_words(), text) or numbers_in(
        source
    ) != numbers_in(text):
        return "numbers"
    if _SIGN.findall(source) != _SIGN.findall(text) or _names(source, sentence.values) != _names(text, sentence.values):
        return "names"
    if _foreign(source, text):
        return "language"
    if _meanings(source) != _meanings(text) or _strays(sentence, text):
        return "meaning"
    known = {fold(wording).rstrip(" .?!") for wording in (source, *sentence.pool)}
    return "nothing new" if folded.rstrip(" .?!") in known else None


def _chatters(source: str, text: str, folded: str) -> bool:
    told = fold(source)
    marks = set(_MARKUP.findall(text)) - set(_MARKUP.findall(source))
    phrases = any(phrase in folded and phrase not in told for phrase in lists()["chatter"])
    speaks = (chatters(text) and not chatters(source)) or (refuses(text) and not refuses(source))
    return bool(marks) or phrases or speaks


def _names(text: str, values: Collection[str]) -> list[str]:
    """Return what of a text must stay as it is, in its order; a value of the store in whatever case."""
    if not values:
        return _NAME.findall(text)
    known = "|".join(rf"(?<!\w)(?i:{re.escape(value)})(?!\w)" for value in values)
    lower = {value.lower(): value for value in values}
    return [lower.get(name.lower(), name) for name in re.findall(f"{known}|{_NAME.pattern}", text)]


def _mentions(sentence: str, value: str) -> bool:
    return bool(value.strip()) and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", sentence, re.IGNORECASE) is not None


def _foreign(source: str, text: str) -> bool:
    letters = [word for word in words(text) if word.isalpha()]
    # The sentence itself may name a column, such as customer_id.
    if not set(lists()["foreign"]).isdisjoint(set(letters) - set(words(source))):
        return True
    return len(letters) >= 4 and FUNCTION_WORDS.isdisjoint(letters)


@cache
def _numbers_in_words() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(lists()['numerals'])})\b")


def _in_words(pattern: re.Pattern[str], text: str) -> list[str]:
    return pattern.findall(fold(text))


def _meanings(text: str) -> set[str]:
    folded = fold(text)
    return {name for name, pattern in _meaning_patterns().items() if pattern.search(folded)}


@cache
def _meaning_patterns() -> dict[str, re.Pattern[str]]:
    def either(forms: list[str]) -> re.Pattern[str]:
        return re.compile(rf"\b(?:{'|'.join(form.replace('*', '[a-z]*') for form in forms)})\b")

    return {name: either(forms) for name, forms in lists()["meanings"].items()}


def _strays(sentence: Sentence, text: str) -> bool:
    """Tell whether a text has next to no word of the sentence, or of the other wordings where there are some."""
    pool = {word for wording in (sentence.text, *sentence.pool) for word in content_words(wording)}
    own = content_words(text)
    return not own or share_present(own, pool) < 0.25
