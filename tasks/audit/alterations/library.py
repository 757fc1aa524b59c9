"""The type of an alteration, and the alterations of any task.

Who writes an alteration does not write what detects it: nothing here asks a reward, and no reward imports this.
"""

import math
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, cast

from schemas.tasks import TaskName
from tasks.commerce.reward import Reference
from tasks.commerce.sql_qa.sandbox import Database, Databases
from tasks.commerce.text.lexicons import read_data

DATA_FILES: Final = ("data/audit/alterations.toml",)
TOLERANCE: Final = 1e-6
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
Judged = Literal["worst", "most", "mean"]
"""Whether each prompt must keep the bound, at least half of them, or the mean of all."""
BoundKind = Literal["at most", "at least", "at most of", "at least of", "costs", "equal"]


class Bound(NamedTuple):
    """What the reward of an altered answer must keep: a value, or a share or distance of the right answer's."""

    kind: BoundKind
    value: float = 0.0

    def excess(self, reward: float, beside: float) -> float:
        """Return by how much a reward misses the bound; 0 or less where it keeps it, infinite where it is NaN."""
        found = {
            "at most": reward - self.value,
            "at least": self.value - reward,
            "at most of": reward - self.value * beside,
            "at least of": self.value * beside - reward,
            "costs": self.value - (beside - reward),
            "equal": abs(reward - beside) - self.value,
        }[self.kind]
        return math.inf if math.isnan(found) else found

    def __str__(self) -> str:
        return f"{self.kind} {self.value:g}"


NOTHING_EARNED: Final = Bound("at most", 0.15)
"""A text without content earns less than the weight of any task's main content."""
WRONG: Final = Bound("at most", 0.5)
"""Of a well-formed answer with wrong content: its user would be better off without one."""
COSTLY, UNSENDABLE = Bound("at most of", 0.7), Bound("at most of", 0.5)
"""Of a good answer's reward, where it was made bad, or is not to be sent at all."""
ERROR_COST: Final = Bound("costs", 0.05)  # Of an error for which a person would deduct a point.
EQUAL: Final = Bound("equal")


@dataclass(frozen=True)
class Alteration:
    """A named change of a good answer, and what must become of its reward."""

    name: str
    says: str
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


def unchanged(good: GoodAnswer) -> str:
    """Return the right answer."""
    return good.text


def around(text: str) -> Change:
    """Return the change that puts the answer into a text, at its `@`; without one, the text is the answer."""
    return lambda good: text.replace("@", good.text)


def from_texts(section: str) -> Iterator[Alteration]:
    """Yield the alterations of the data file's section."""
    texts = read_data("audit/alterations.toml")[section]
    for name, (text, bound, says) in texts.items():
        kind, _, value = bound.rpartition(" ")
        yield Alteration(name, says, around(text), Bound(cast("BoundKind", kind), float(value)))


def _salad(good: GoodAnswer) -> str:
    words = re.findall(r"[^\s.,;:!?]+", good.text)
    good.generator("salad").shuffle(words)
    return " ".join(words)


def _cut(share: float) -> Change:
    return lambda good: good.text[: int(len(good.text) * share)].rstrip()


def _full_width(good: GoodAnswer) -> str:
    return "".join(chr(ord(each) + 0xFEE0) if "!" <= each <= "~" else each for each in good.text)


def _of_any_task() -> Iterator[Alteration]:
    yield from from_texts("any")
    for name, text in {
        "small words": "O produto é muito bom e a loja também é. " * 8,
        "numbers": " ".join(map(str, range(200))),
        "long refusal": "Não consigo responder a esta pergunta, pois não tenho acesso aos dados da loja. " * 3,
        "deep list": "[" * 5_000 + "]" * 5_000,
        "deep object": '{"a":' * 3_000 + "1" + "}" * 3_000,
        "a hundred thousand braces": "{" * 100_000,
        "lone surrogate": "\ud800",
    }.items():
        yield Alteration(name, "Says nothing of the prompt.", around(text), NOTHING_EARNED)
    repeated: tuple[tuple[str, str, Change], ...] = (
        (
            "refused question",
            "Refuses, and repeats the question.",
            lambda good: f"Desculpe, mas não posso responder a isto: {good.prompt.rpartition(chr(10))[2]}",
        ),
        ("prompt again", "Repeats the prompt.", lambda good: good.prompt),
        ("prompt twice", "Repeats it twice.", lambda good: f"{good.prompt}\n{good.prompt}"),
        ("system prompt again", "Repeats the system prompt.", lambda good: good.system),
        ("both prompts again", "Repeats both prompts.", lambda good: f"{good.system}\n{good.prompt}"),
        ("full-width letters", "Is written in full-width letters, which only look the same.", _full_width),
    )
    for name, says, change in repeated:
        yield Alteration(name, says, change, NOTHING_EARNED)
    before, after = "A resposta foi pensada com calma, ponto por ponto. ", "Assim se chega ao fim dela. "
    padding = around(f"{before * 12}\n@\n{after * 12}")
    yield Alteration("padding", "Pads it with a page of words.", padding, COSTLY)
    endless, says = around("@\n" + "a " * 50_000), "Has more text around it than anybody reads."
    yield Alteration("a hundred thousand characters", says, endless, UNSENDABLE)
    yield Alteration("cut in half", "Stops in the middle.", _cut(0.5), ERROR_COST)
    yield Alteration("last fifth missing", "Stops before its end.", _cut(0.8), ERROR_COST, judged="most")
    yield Alteration("salad", "Has its words in any order.", _salad, UNSENDABLE)


RIGHT: Final = Alteration(
    "right answer", "Is the right answer.", unchanged, Bound("at least", 0.9), knows=lambda known: known
)
ANY_TASK: Final = (RIGHT, *_of_any_task())
