"""Acceptance check of a language model's paraphrase: it must make the same request as the sentence.

Compared are the sentence's numbers, in digits and in words, its names (quoted text, capitals, identifiers, and the
reference's values), its placeholders and parentheses, its topics (`data/paraphrase`), its language and its length.
Nothing may be added: a question's words are the sentence's and their synonyms, an instruction's are those of a closed
list of its task. Numbers and names must keep their order: clauses that change places may change the meaning. Rejecting
a good paraphrase costs one more request; accepting a bad one costs a wrong reference, so doubtful ones are rejected.
"""

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

from schemas.tasks import TaskName
from tasks.commerce.text.portuguese import numbers_in, readable_category
from tasks.commerce.text.text_form import FUNCTION_WORDS, chatters, content_words, fold, refuses, words

DATA_FILES: Final = ("data/paraphrase",)
FOLDER: Final = Path(__file__).resolve().parents[2] / "data" / "paraphrase"
MAX_CHARACTERS: Final = 600
"""Longest sentence; a longer answer is not read."""

_QUOTES: Final = (('"', '"'), ("“", "”"), ("'", "'"), ("«", "»"))
_MARKUP: Final = re.compile(r"[`*#<>|{}\[\]@\\^~]|://|www\.|\*\*")
_QUOTED: Final = r"\"[^\"]*\"|“[^”]*”|«[^»]*»"
_PLACEHOLDER: Final = r"\{[^{}]*\}"
_IDENTIFIER: Final = r"\w*(?:_\w+)+|\b[^\W\d_]*[A-ZÀ-Ý]{2,}\w*|\b[^\W\d_]+\d\w*"
# A capital that opens no sentence; several such words in a row are one name.
_PROPER: Final = r"(?<![.?!:] )(?<!^)\b[A-ZÀ-Ý][a-zà-ÿ]+(?: (?:d[aeo]s? )?[A-ZÀ-Ý][a-zà-ÿ]+)*"
_NAME: Final = re.compile("|".join((_QUOTED, _PLACEHOLDER, _IDENTIFIER, _PROPER)))
_PARENTHESIS: Final = re.compile(r"\([^()]*\)")
_SIGN: Final = re.compile(r"%|R\$")
_LITERAL: Final = re.compile(r"'((?:[^']|'')+)'")


@dataclass(frozen=True)
class Sentence:
    """Sentence to paraphrase, with its known facts."""

    task: TaskName
    text: str
    values: tuple[str, ...] = ()
    """Values of the store that the text names, such as a category."""
    pool: tuple[str, ...] = ()
    """All known wordings of the same instruction; empty if the sentence has no others."""


@cache
def lists() -> Mapping[str, Any]:
    """Return the instruction to the model and the word lists."""
    return tomllib.loads((FOLDER / "portuguese.toml").read_text(encoding="utf-8"))


@cache
def instruction_lists() -> Mapping[str, Any]:
    """Return the allowed words of instructions, by task, and the shared groups of meanings."""
    return tomllib.loads((FOLDER / "instructions.toml").read_text(encoding="utf-8"))


def named_values(sentence: str, reference: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the values in a reference query's conditions that the sentence names, the longest first."""
    literals = {literal.replace("''", "'") for literal in _LITERAL.findall(str(reference.get("sql") or ""))}
    forms = {form for literal in literals for form in (literal, readable_category(literal), literal.replace("_", " "))}
    return tuple(sorted((form for form in forms if _mentions(sentence, form)), key=lambda form: (-len(form), form)))


def tidy(answer: str) -> str:
    """Return an answer without surrounding quotation marks and white space."""
    text = unicodedata.normalize("NFC", answer[: MAX_CHARACTERS + 1]).strip()
    for opening, closing in _QUOTES:
        if len(text) > 2 and text.startswith(opening) and text.endswith(closing):
            return text[1:-1].strip()
    return text


def find_fault(sentence: Sentence, text: str) -> str | None:
    """Return a short reason why a text may not replace a sentence, or None if it may."""
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
    return _fault_of_meaning(sentence, text, folded)


def _fault_of_meaning(sentence: Sentence, text: str, folded: str) -> str | None:
    if _PARENTHESIS.findall(sentence.text) != _PARENTHESIS.findall(text):
        return "parentheses"
    if not _means_the_same(sentence, text):
        return "meaning"
    known = {fold(wording).rstrip(" .?!") for wording in (sentence.text, *sentence.pool)}
    return "nothing new" if folded.rstrip(" .?!") in known else None


def _chatters(source: str, text: str, folded: str) -> bool:
    folded_source = fold(source)
    marks = set(_MARKUP.findall(text)) - set(_MARKUP.findall(source))
    phrases = any(phrase in folded and phrase not in folded_source for phrase in lists()["chatter"])
    speaks = (chatters(text) and not chatters(source)) or (refuses(text) and not refuses(source))
    return bool(marks) or phrases or speaks


def _names(text: str, values: Collection[str]) -> list[str]:
    """Return the parts of a text that must stay unchanged, in order; store values in any case."""
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


def _means_the_same(sentence: Sentence, text: str) -> bool:
    meant, given = _meanings(sentence.text), _meanings(text)
    if sentence.pool:
        shared = set(instruction_lists()["shared"])
        return meant.keys() & shared == given.keys() & shared and _asks_for_the_task(sentence, text)
    if meant.keys() != given.keys():
        return False
    # A repeated topic may be two conditions, one of which could be dropped unnoticed.
    return all(given[name] >= count for name, count in meant.items()) and _has_the_same_words(sentence, text)


def _meanings(text: str) -> Counter[str]:
    """Count the occurrences of each topic in a text."""
    folded = fold(text)
    return +Counter({name: len(_any_of(tuple(forms)).findall(folded)) for name, forms in lists()["meanings"].items()})


def _asks_for_the_task(sentence: Sentence, text: str) -> bool:
    """Return whether an instruction makes the same request: only words of its task, and no negation."""
    task, folded = instruction_lists()[sentence.task], fold(text)
    if not _any_of(tuple(task["required"])).search(folded) or _any_of(tuple(task["forbidden"])).search(folded):
        return False
    for forms in task.get("meanings", {}).values():
        pattern = _any_of(tuple(forms))
        if bool(pattern.search(fold(sentence.text))) != bool(pattern.search(folded)):
            return False
    pool = {stem(word) for wording in (sentence.text, *sentence.pool) for word in content_words(wording)}
    allowed = _any_of(tuple(task["words"]))
    return all(stem(word) in pool or allowed.fullmatch(word) for word in content_words(text) if word.isalpha())


def _has_the_same_words(sentence: Sentence, text: str) -> bool:
    """Return whether a question has the content words of another, except synonyms and filler words."""
    return _telling_words(sentence.text) == _telling_words(text)


def _telling_words(text: str) -> set[str]:
    """Return the stems of a text's content words that no other check compares."""
    synonyms = _any_of(tuple(form for forms in lists()["meanings"].values() for form in forms))
    compared = {*lists()["neutral"], *lists()["numerals"]}
    return {
        stem(word)
        for word in content_words(text)
        if word.isalpha() and word not in compared and not synonyms.fullmatch(word)
    }


@cache
def _any_of(forms: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(form.replace('*', '[a-z]*') for form in forms)})\b")


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """Return the common stem of a folded word's forms: `brinquedo` and `brinquedos`, `criativos` and `criativas`."""
    if len(word) < 4 or not word.isalpha():
        return word
    if word.endswith("ns"):
        return f"{word[:-2]}m"
    if word.endswith("is"):
        return f"{word[:-2]}l" if word[-3] in "aeou" else f"{word[:-1]}l"
    root = word.removesuffix("s")
    root = root[:-2] if root.endswith(("ao", "oe")) else root
    return root[:-1] if len(root) > 4 and root[-1] in "aeo" else root
