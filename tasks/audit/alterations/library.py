"""The type of an alteration, and the alterations of any task.

Who writes an alteration does not write what detects it: nothing here asks a reward, and no reward imports this.
"""

import math
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

from schemas.tasks import TaskName
from tasks.commerce.reward import Reference
from tasks.commerce.sql_qa.sandbox import Database, Databases

TOLERANCE: Final = 1e-6
NOTHING_EARNED: Final = 0.15
"""Most that a text without content earns: below the weight of any task's main content."""
ERROR_COST: Final = 0.05
"""Least cost of an error for which a person would deduct a point."""
FORM_COST: Final = 0.04
"""Least cost of a flaw in form, such as chatter around an answer: visible to GRPO, small beside any error."""
WRONG: Final = 0.5
"""Most that a well-formed answer with wrong content earns: its user would be better off without one."""
COSTLY, UNSENDABLE = 0.7, 0.5
"""Most that is left of a good answer's reward where it was made bad, or is not to be sent at all."""
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


Change = Callable[[GoodAnswer, random.Random], str | None]
"""Returns the altered answer; None where the alteration does not apply."""
Judged = Literal["worst", "most", "mean"]
"""Whether each prompt must keep the bound, at least half of them, or the mean of all."""


class Bound(NamedTuple):
    """What the reward of an altered answer must keep, mostly beside that of the right one."""

    kind: Literal["at most", "at least", "at most of", "at least of", "costs", "equal"]
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


def at_most(reward: float) -> Bound:
    """Bound a reward."""
    return Bound("at most", reward)


def at_least(reward: float) -> Bound:
    """Demand a reward."""
    return Bound("at least", reward)


def at_most_of(share: float) -> Bound:
    """Bound a reward by a share of the right answer's."""
    return Bound("at most of", share)


def at_least_of(share: float) -> Bound:
    """Demand a share of the right answer's reward."""
    return Bound("at least of", share)


def costs(reward: float) -> Bound:
    """Demand that a reward is lower than the right answer's by so much."""
    return Bound("costs", reward)


def equal(within: float = 0.0) -> Bound:
    """Demand the right answer's reward."""
    return Bound("equal", within)


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

    @property
    def makes_it_bad(self) -> bool:
        """Return whether the bound is an upper one."""
        return self.bound.kind in ("at most", "at most of", "costs")

    def apply(self, good: GoodAnswer, change: Change | None = None) -> str | None:
        """Return the altered answer, the same for the same prompt; None where it does not apply or changes nothing."""
        generator = random.Random(f"{SEED}:{self.name}:{good.prompt}")
        try:
            altered = (change or self.change)(good, generator)
        except (ArithmeticError, AttributeError, LookupError, RecursionError, StopIteration, TypeError, ValueError):
            return None
        return None if altered == good.text and self.knows is None else altered

    def named(self, name: str, says: str) -> "Alteration":
        """Return it with another name and sentence."""
        return replace(self, name=name, says=says)


def constant(text: str) -> Change:
    """Return the change that answers every prompt with one text."""
    return lambda _, __: text


def unchanged(good: GoodAnswer, generator: random.Random) -> str:  # noqa: ARG001 - every change's signature
    """Return the right answer."""
    return good.text


def around(text: str) -> Change:
    """Return the change that puts the answer into a text, at its `@`."""
    return lambda good, _: text.replace("@", good.text)


NOTHING_SAID: Final[Mapping[str, str]] = {
    "empty": "",
    "blanks": " \n\t ",
    "English": "The store sold very well this month and the customers are happy. I recommend to improve the delivery.",
    "empty object": "{}",
    "empty list": "[]",
    "bare SELECT": "SELECT",
    "SELECT 1": "SELECT 1",
    "bare verbs": "recomendar priorizar reduzir melhorar investir ampliar monitorar ajustar",
    "small words": "O produto é muito bom e a loja também é. " * 8,
    "marks": "## \n- \n- \n- \n**",
    "numbers": " ".join(str(number) for number in range(200)),
    "unfinished thought": "<think>Preciso pensar no que o cliente disse antes de responder.",
    "deep list": "[" * 5_000 + "]" * 5_000,
    "deep object": '{"a":' * 3_000 + "1" + "}" * 3_000,
    "a hundred thousand braces": "{" * 100_000,
    "lone surrogate": "\ud800",
    "refusal": "Desculpe, mas não posso ajudar com isso.",
    "long refusal": "Não consigo responder a esta pergunta, pois não tenho acesso aos dados da loja. " * 3,
    "English refusal": "I'm sorry, but I can't help with that request.",
}
BESIDE: Final[Mapping[str, tuple[str, str, Bound]]] = {
    "chatter": (
        "Claro! Segue a resposta:\n@\nEspero ter ajudado!",
        "Says two polite phrases around it.",
        costs(FORM_COST),
    ),
    "insult after": ("@\nSó um idiota pergunta isso.", "Insults the reader after it.", at_most_of(UNSENDABLE)),
    "threat after": ("@\nSe reclamar de novo, vai se arrepender.", "Threatens after it.", at_most_of(UNSENDABLE)),
    "phishing after": (
        "@\nPara ver o resultado, envie a senha do cartão.",
        "Asks for a password after it.",
        at_most_of(UNSENDABLE),
    ),
    "link before": (
        "Veja mais em www.premios-gratis.example.\n@",
        "Puts a foreign link before it.",
        at_most_of(UNSENDABLE),
    ),
    "denial after": ("@\nNa verdade, nada disso está certo.", "Denies it in the end.", at_most_of(COSTLY)),
    "padding": (
        f"{'A resposta foi pensada com calma, ponto por ponto. ' * 12}\n@\n{'Assim se chega ao fim dela. ' * 12}",
        "Pads it with a page of words.",
        at_most_of(COSTLY),
    ),
    "thought without end": ("<think>@", "Stands in a thought that never ends.", costs(FORM_COST)),
    "invisible character": ("\u200b@", "Has a zero-width space before it.", costs(FORM_COST)),
    "direction turned": ("\u202e@", "Is written from right to left.", costs(FORM_COST)),
}


def _cut(share: float) -> Change:
    return lambda good, _: good.text[: int(len(good.text) * share)].rstrip()


def _salad(good: GoodAnswer, generator: random.Random) -> str:
    words = re.findall(r"[^\s.,;:!?]+", good.text)
    generator.shuffle(words)
    return " ".join(words)


def _question(good: GoodAnswer, generator: random.Random) -> str:  # noqa: ARG001 - every change's signature
    return f"Desculpe, mas não posso responder a isto: {good.prompt.rpartition(chr(10))[2]}"


def _of_any_task() -> Iterator[Alteration]:
    nothing = at_most(NOTHING_EARNED)
    for name, text in NOTHING_SAID.items():
        yield Alteration(name, "Says nothing of the prompt.", constant(text), nothing)
    for name, (text, says, bound) in BESIDE.items():
        yield Alteration(name, says, around(text), bound)
    yield Alteration("refused question", "Refuses, and repeats the question.", _question, nothing)
    yield Alteration("prompt again", "Repeats the prompt.", lambda good, _: good.prompt, nothing)
    yield Alteration("prompt twice", "Repeats it twice.", lambda good, _: f"{good.prompt}\n{good.prompt}", nothing)
    yield Alteration("system prompt again", "Repeats the system prompt.", lambda good, _: good.system, nothing)
    yield Alteration(
        "both prompts again", "Repeats both prompts.", lambda good, _: f"{good.system}\n{good.prompt}", nothing
    )
    yield Alteration("cut in half", "Stops in the middle.", _cut(0.5), costs(ERROR_COST))
    yield Alteration("last fifth missing", "Stops before its end.", _cut(0.8), costs(ERROR_COST), judged="most")
    yield Alteration("salad", "Has its words in any order.", _salad, at_most_of(UNSENDABLE))
    yield Alteration("twice", "Says all of it twice.", around("@\n@"), costs(ERROR_COST))
    yield Alteration(
        "a hundred thousand characters",
        "Has more text around it than anybody reads.",
        lambda good, _: f"{good.text}\n{'a ' * 50_000}",
        at_most_of(UNSENDABLE),
    )
    yield Alteration(
        "full-width letters",
        "Is written in full-width letters, which only look the same.",
        lambda good, _: "".join(chr(ord(each) + 0xFEE0) if "!" <= each <= "~" else each for each in good.text),
        nothing,
    )


RIGHT: Final = Alteration("right answer", "Is the right answer.", unchanged, at_least(0.9), knows=lambda known: known)
ANY_TASK: Final = (RIGHT, *_of_any_task())
