"""Instructions in Brazilian Portuguese, each with the checks that an answer must pass."""

import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from schemas.json_lines import read_json_lines
from schemas.tables.prompts import PromptRow
from schemas.tasks import TaskName
from tasks.commerce.text.lexicons import read_data

DATA_FILES: Final = ("data/general/instructions.jsonl", "data/general/small_words.toml")
SYSTEM: Final = "Responda em português do Brasil e faça exatamente o que a mensagem pede."
"""What the model is told before each instruction."""
_FILE: Final = Path(__file__).resolve().parents[3] / DATA_FILES[0]


class InstructionCheck(BaseModel):
    """One thing that an instruction asks for."""

    model_config = ConfigDict(extra="allow", frozen=True)

    check: str

    def passed(self, answer: str) -> bool:
        """Return whether an answer does it."""
        return CHECKS[self.check](answer, **(self.model_extra or {}))


class GeneralInstruction(BaseModel):
    """One instruction, with an answer that follows it and one that does not."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    kind: str
    """What it asks for, such as `dates`."""
    prompt: str
    checks: tuple[InstructionCheck, ...] = Field(min_length=1)
    right: str
    """An answer that follows it."""
    wrong: str
    """One that does not, as a model that lost it would give."""

    def followed(self, answer: str) -> bool:
        """Return whether an answer does all that was asked, and does not repeat the instruction."""
        if not answer.strip() or repeats(answer, self.prompt):
            return False
        return all(check.passed(answer) for check in self.checks)


@cache
def instructions() -> tuple[GeneralInstruction, ...]:
    """Return all instructions, in the order of the file."""
    return read_json_lines(_FILE, GeneralInstruction, "instructions")


def as_rows(tasks: Sequence[TaskName]) -> list[PromptRow]:
    """Return the instructions as prompts that a model answers like the test split's."""
    return [
        PromptRow(
            prompt_id=each.id,
            task=tasks[number % len(tasks)],
            system=SYSTEM,
            prompt=each.prompt,
            reference={},
            source="general",
            customer_id=None,
            order_id=None,
            review_id=None,
        )
        for number, each in enumerate(instructions())
    ]


Check = Callable[..., bool]

_SMALL_WORDS: Final = tuple(frozenset(listed.split()) for listed in read_data("general/small_words.toml").values())
_SENTENCE_END: Final = re.compile(r"[.!?…]+[\"'”’»)]*(?=\s|$)")
_ABBREVIATION: Final = re.compile(r"\b(Sr|Sra|Dr|Dra|Prof|Profa|av|pág|tel|nº)\.(?=\s+\S)", re.IGNORECASE)
_BULLET: Final = re.compile(r"\s*[-–]\s+(?=\S)")
_ANY_MARK: Final = re.compile(r"\s*(?:[-–*•]|\d{1,3}[.)])\s+(?=\S)")
_NUMBERED: Final = re.compile(r"\s*(\d{1,3})[.)]\s+(?=\S)")
_FENCE: Final = re.compile(r"```(?:json)?\s*\n(.*)\n\s*```", re.DOTALL | re.IGNORECASE)
_SEPARATOR: Final = re.compile(r"\n|[,;]\s|\se\s")
_RULE_OF_A_TABLE: Final = re.compile(r"[\s|:-]+")
_QUOTES: Final = ('""', "“”", "«»", "''", "‘’")
_AROUND: Final = "\"'“”«»‘’`* \n"
_AFTER: Final = ".;! "
_LAST_SIGN: Final = 0x2100
"""Signs above this code point that are no letters are emoji and dingbats; below it stand °, © and the like."""


def words(answer: str, least: int = 1, most: int | None = None) -> bool:
    """Return whether an answer has so many words, as a person counts them: between spaces, with a letter or digit."""
    return least <= len(_words(answer)) <= (most or len(answer))


def sentences(answer: str, least: int = 1, most: int | None = None) -> bool:
    """Return whether an answer has so many sentences."""
    parts = _SENTENCE_END.split(_ABBREVIATION.sub(r"\1", answer))
    return least <= sum(map(_says_something, parts)) <= (most or len(answer))


def lines(answer: str, count: int, least_words: int = 1) -> bool:
    """Return whether an answer has so many lines, empty ones apart, each with at least so many words."""
    found = _lines(answer)
    return len(found) == count and all(len(_words(line)) >= least_words for line in found)


def bullets(answer: str, count: int, *, numbered: bool = False) -> bool:
    """Return whether an answer is a list of so many items, each with a hyphen or, in order from 1, its number."""
    found = _lines(answer)
    if numbered:
        matches = [_NUMBERED.match(line) for line in found]
        return [match and int(match[1]) for match in matches] == list(range(1, count + 1))
    return len(found) == count and all(_BULLET.match(line) for line in found)


def starts(answer: str, text: str) -> bool:
    """Return whether an answer begins with a text, marks around it apart."""
    begun = answer.lstrip(_AROUND)
    return begun.startswith(text) and not begun[len(text) : len(text) + 1].isalnum()


def ends(answer: str, text: str) -> bool:
    """Return whether an answer ends with a text; a full stop may follow where the text has none of its own."""
    return answer.rstrip(_AROUND).endswith(text) or answer.rstrip(_AFTER + _AROUND).endswith(text)


def contains(answer: str, texts: Sequence[str], times: int | None = None) -> bool:
    """Return whether each of some words stands in an answer, and exactly so often where that was asked."""
    found = [_count(answer, text) for text in texts]
    return all(count >= 1 if times is None else count == times for count in found)


def forbids(answer: str, texts: Sequence[str]) -> bool:
    """Return whether none of some words stands in an answer."""
    return not any(_count(answer, text) for text in texts)


def without(answer: str, characters: str) -> bool:
    """Return whether an answer has none of some characters, in either case."""
    return not set(characters.casefold()) & set(answer.casefold())


def without_emoji(answer: str) -> bool:
    """Return whether an answer has no emoji."""
    return not any(ord(sign) > _LAST_SIGN and unicodedata.category(sign) == "So" for sign in answer)


def repeats(answer: str, prompt: str) -> bool:
    """Return whether an answer repeats an instruction, whatever it adds to it."""
    return _bare(prompt) in _bare(answer)


def case(answer: str, form: str) -> bool:
    """Return whether all letters are capitals (`upper`) or none is (`lower`)."""
    cased = answer.upper() if form == "upper" else answer.lower()
    return answer == cased and any(sign.isalpha() for sign in answer)


def equals(answer: str, texts: Sequence[str]) -> bool:
    """Return whether an answer is one of some texts; capitals, marks around it and a full stop are free."""
    return _bare(answer) in map(_bare, texts)


def copies(answer: str, text: str) -> bool:
    """Return whether an answer is a text, sign by sign; quotation marks may stand around it."""
    copied = answer.strip()
    return text in (copied, _unquoted(copied))


def sequence(answer: str, texts: Sequence[str]) -> bool:
    """Return whether an answer lists just these items in this order, by commas or lines, numbered or not."""
    return _items(answer) == [_bare(text) for text in texts]


def alphabetical(answer: str, count: int) -> bool:
    """Return whether an answer lists so many different items in alphabetical order, accents apart."""
    found = [_without_accents(item) for item in _items(answer)]
    return len(set(found)) == count == len(found) and found == sorted(found)


def json_object(answer: str, keys: Sequence[str], values: Mapping[str, Any]) -> bool:
    """Return whether an answer is a JSON object with just these keys, and with these values of some of them."""
    fenced = _FENCE.fullmatch(answer.strip())
    try:
        found = json.loads(fenced[1] if fenced else answer)
    except (ValueError, RecursionError):
        return False
    return (
        isinstance(found, dict)
        and found.keys() == set(keys)
        and all(type(found[key]) is type(value) and found[key] == value for key, value in values.items())
    )


def table(answer: str, columns: Sequence[str], rows: int) -> bool:
    """Return whether an answer is a table of `|` with these columns and so many rows, a ruled line apart."""
    found = _lines(answer)
    cells = [
        [cell.strip(_AROUND).casefold() for cell in line.strip().strip("|").split("|")]
        for line in found
        if not _RULE_OF_A_TABLE.fullmatch(line)
    ]
    complete = all("|" in line for line in found) and all(len(row) == len(columns) and all(row) for row in cells)
    return complete and len(cells) == rows + 1 and cells[0] == [column.casefold() for column in columns]


def titled(answer: str, most: int, least_words: int) -> bool:
    """Return whether a title of at most so many words, an empty line and a text of at least so many follow."""
    first, _, rest = answer.strip().partition("\n")
    title = first.strip("#* ")
    has_title = 1 <= len(_words(title)) <= most and not title.endswith(".")
    return has_title and rest.split("\n", 1)[0].strip() == "" and len(_words(rest)) >= least_words


def quoted(answer: str) -> bool:
    """Return whether a whole answer, a full stop apart, stands in quotation marks."""
    stripped = answer.strip().rstrip(".")
    return _unquoted(stripped) != stripped


def portuguese(answer: str) -> bool:
    """Return whether an answer reads as Portuguese: its small words are, and no word is repeated over and over."""
    found = [word.strip(".,;:!?()…\"'“”*#|-").casefold() for word in _words(answer)]
    ours, theirs = (sum(word in listed for word in found) for listed in _SMALL_WORDS)
    varied = len(set(found)) * 2 >= min(len(found), 60)
    return varied and ours > theirs and ours * 12 >= min(len(found), 200)


CHECKS: Final[Mapping[str, Check]] = {
    check.__name__: check for check in (
        words, sentences, lines, bullets, starts, ends, contains, forbids, without, without_emoji, case, equals,
        copies, sequence, alphabetical, json_object, table, titled, quoted, portuguese,
    )
}  # fmt: skip
"""The checks by the name that instructions give."""


def _words(text: str) -> list[str]:
    return [word for word in text.split() if _says_something(word)]


def _says_something(text: str) -> bool:
    return any(sign.isalnum() for sign in text)


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def _count(answer: str, text: str) -> int:
    return len(re.findall(rf"(?<!\w){re.escape(text.casefold())}(?!\w)", answer.casefold()))


def _bare(text: str) -> str:
    joined = unicodedata.normalize("NFC", " ".join(text.split()))
    return joined.strip(_AROUND + _AFTER).casefold()


def _unquoted(text: str) -> str:
    quotes = len(text) > 2 and text[0] + text[-1] in _QUOTES
    return text[1:-1] if quotes else text


def _items(text: str) -> list[str]:
    unmarked = "\n".join(_ANY_MARK.sub("", line, count=1) for line in _lines(text))
    found = [_bare(item) for item in _SEPARATOR.split(unmarked)]
    return [item for item in found if item]


def _without_accents(text: str) -> str:
    return "".join(sign for sign in unicodedata.normalize("NFD", text) if not unicodedata.combining(sign))
