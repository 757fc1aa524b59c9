"""The type of an alteration, and the alterations of any task.

Who writes an alteration does not write what detects it: nothing here asks a reward, and no reward imports this.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from schemas.tasks import TaskName
from tasks.audit.alterations import bounds
from tasks.audit.alterations.bounds import Bound, BoundKind
from tasks.commerce.reward import Reference
from tasks.commerce.sql_qa.sandbox import Database, Databases
from tasks.commerce.text.lexicons import read_data

DATA_FILES: Final = ("data/audit/alterations.toml",)
SEED: Final = 0


@dataclass(frozen=True)
class GoodAnswer:
    """A prompt with its right answer, or with what a search made of it."""

    task: TaskName
    prompt: str
    reference: Reference
    text: str
    system: str = ""
    databases: Databases | None = None
    """The reward's copies of the store; of sql_qa only."""
    witness: Database | None = None
    """Another store, on which a false query must give other rows; of sql_qa only."""

    def generator(self, name: str) -> random.Random:
        """Return the random numbers of an alteration, the same for the same prompt."""
        return random.Random(f"{SEED}:{name}:{self.prompt}")


Change = Callable[[GoodAnswer], str | None]
"""Returns the altered answer; None where the alteration does not apply."""
TextChange = Callable[[str], str | None]
Judged = Literal["worst", "most", "mean"]
"""Whether each prompt must keep the bound, at least half of them, or the mean of all."""


@dataclass(frozen=True)
class Alteration:
    """A named change of a good answer, and what must become of its reward."""

    name: str
    change: Change
    bound: Bound
    beside: Change | None = None
    """Makes the text whose reward the bound is beside; the right answer if None."""
    judged: Judged = "worst"
    knows: Callable[[Reference], Reference | None] | None = None
    """Makes the reference by which it is scored, where that is another; None where the alteration does not apply."""

    def apply(self, good: GoodAnswer, change: Change | None = None) -> str | None:
        """Return the altered answer, the same for the same prompt; None where it does not apply or changes nothing."""
        try:
            altered = (change or self.change)(good)
        except (ArithmeticError, AttributeError, LookupError, RecursionError, StopIteration, TypeError, ValueError):
            return None
        return None if altered == good.text and self.knows is None else altered


def within(bound: Bound, changes: Mapping[str, Change], judged: Judged = "worst") -> Iterator[Alteration]:
    """Yield alterations that must keep one bound."""
    return (Alteration(name, change, bound, judged=judged) for name, change in changes.items())


def unchanged(good: GoodAnswer) -> str:
    """Return the right answer."""
    return good.text


def around(text: str) -> Change:
    """Return the change that puts the answer into a text, at its `@`; without one, the text is the answer."""
    return lambda good: text.replace("@", good.text)


def from_texts(section: str) -> Iterator[Alteration]:
    """Yield the alterations of the data file's section."""
    for name, (text, bound) in read_data("audit/alterations.toml")[section].items():
        kind, _, value = bound.rpartition(" ")
        yield Alteration(name, around(text), Bound(cast("BoundKind", kind), float(value)))


def text_changes(section: str, by_code: Mapping[str, TextChange]) -> Iterator[tuple[str, TextChange]]:
    """Yield the changes of a section of the data file, by name; those that it only names are written in code."""
    for name, given in read_data("audit/alterations.toml")[section].items():
        yield name, replaced(*given) if given else by_code[name]


def replaced(pattern: str, other: Any, count: int = 0) -> TextChange:
    """Return the change of what a pattern finds, as `re.sub` makes it, or a mapping: by the text found, or by ""."""
    new = (lambda found: other.get(found[0]) or other[""]) if isinstance(other, Mapping) else other
    return lambda text: re.sub(pattern, new, text, count=count)


def _salad(good: GoodAnswer) -> str:
    words = re.findall(r"[^\s.,;:!?]+", good.text)
    good.generator("salad").shuffle(words)
    return " ".join(words)


def _cut(share: float) -> Change:
    return lambda good: good.text[: int(len(good.text) * share)].rstrip()


def _full_width(good: GoodAnswer) -> str:
    return "".join(chr(ord(each) + 0xFEE0) if "!" <= each <= "~" else each for each in good.text)


_WITHOUT_CONTENT: Final[Mapping[str, Change]] = {
    "small words": around("O produto é muito bom e a loja também é. " * 8),
    "numbers": around(" ".join(map(str, range(200)))),
    "long refusal": around("Não consigo responder a esta pergunta, pois não tenho acesso aos dados da loja. " * 3),
    "deep list": around("[" * 5_000 + "]" * 5_000),
    "deep object": around('{"a":' * 3_000 + "1" + "}" * 3_000),
    "a hundred thousand braces": around("{" * 100_000),
    "lone surrogate": around("\ud800"),
    "refused question": lambda good: f"Desculpe, mas não posso responder a isto: {good.prompt.rpartition(chr(10))[2]}",
    "prompt again": lambda good: good.prompt,
    "prompt twice": lambda good: f"{good.prompt}\n{good.prompt}",
    "system prompt again": lambda good: good.system,
    "both prompts again": lambda good: f"{good.system}\n{good.prompt}",
    "full-width letters": _full_width,
}
_PADDING: Final = "A resposta foi pensada com calma, ponto por ponto. " * 12, "Assim se chega ao fim dela. " * 12
RIGHT: Final = Alteration("right answer", unchanged, Bound("at least", 0.9), knows=lambda known: known)
ANY_TASK: Final = (
    RIGHT,
    *from_texts("any"),
    *within(bounds.NOTHING_EARNED, _WITHOUT_CONTENT),
    Alteration("padding", around("\n@\n".join(_PADDING)), bounds.COSTLY),
    Alteration("a hundred thousand characters", around("@\n" + "a " * 50_000), bounds.UNSENDABLE),
    Alteration("cut in half", _cut(0.5), bounds.ERROR_COST),
    Alteration("last fifth missing", _cut(0.8), bounds.ERROR_COST, judged="most"),
    Alteration("salad", _salad, bounds.UNSENDABLE),
)
