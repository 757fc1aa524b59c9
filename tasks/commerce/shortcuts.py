"""Shortcuts past the work, which a policy takes as a baseline does: a rule on a prompt's own lines, and one answer.

The rule has a constant for each value of a line such as `Nota: 5`, the text unread. A model that gives one answer to
every prompt is useless, whatever that answer earns, so that answers' variety is counted.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from schemas.documents import Rollout
from tasks.commerce.registry import TASKS

LINE: Final = re.compile(r"^([^\W\d][\w ]{0,40}): (.+)$", re.MULTILINE)
FREE_TEXT: Final = "Avaliação"  # Name of the line that is what a shopper wrote.
MOST_VALUES: Final = 12  # A line with more values, such as a sum of money, decides nothing.


class PromptRule(NamedTuple):
    """A constant for each value of some lines."""

    names: tuple[str, ...]
    by_value: Mapping[tuple[str, ...], str]
    usual: str

    def answer(self, prompt: str) -> str:
        """Return the answer to a prompt."""
        return self.by_value.get(_value(self.names, lines_of(prompt)), self.usual)


def lines_of(prompt: str) -> dict[str, str]:
    """Return the lines `Name: value` of a prompt that are its own: neither the instruction nor a text of somebody."""
    own = prompt.partition("\n")[2].partition(f"{FREE_TEXT}: ")[0]
    return dict(reversed(LINE.findall(own)))


def choose_rule(
    prompts: Sequence[str], constants: Sequence[str], earned: Sequence[Sequence[float]]
) -> PromptRule | None:
    """Return the rule that earns most on prompts that did not choose its constants; None without lines to read."""
    lines = [lines_of(prompt) for prompt in prompts]
    every = dict.fromkeys(name for known in lines for name in known)
    names = [name for name in every if 1 < len({known.get(name) for known in lines}) <= MOST_VALUES]
    if not names:
        return None

    def best_place(rows: Sequence[Sequence[float]]) -> int:
        return max(range(len(constants)), key=lambda place: sum(row[place] for row in rows))

    def places(read: tuple[str, ...], step: int) -> dict[tuple[str, ...], int]:
        """Return the place of the constant that earns most for each value of the lines."""
        by_value: defaultdict[tuple[str, ...], list[Sequence[float]]] = defaultdict(list)
        for known, row in zip(lines[::step], earned[::step], strict=True):
            by_value[_value(read, known)].append(row)
        return {value: best_place(rows) for value, rows in by_value.items()}

    def earns(read: tuple[str, ...]) -> float:
        """Return what a rule earns on every second prompt, with the constants that the others choose."""
        found, usual = places(read, 2), best_place(earned[::2])
        others = zip(lines[1::2], earned[1::2], strict=True)
        return sum(row[found.get(_value(read, known), usual)] for known, row in others)

    chosen = max([(name,) for name in names] + ([tuple(names)] if len(names) > 1 else []), key=earns)
    by_value = {value: constants[place] for value, place in places(chosen, 1).items()}
    return PromptRule(chosen, by_value, constants[best_place(earned)])


def _value(read: tuple[str, ...], known: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(known.get(name, "") for name in read)


FORM: Final = re.compile(r"""[\s,;:.!?"'`{}\[\]()]+""")  # Characters that make no other answer, as case does not.


class Variety(NamedTuple):
    """Effective number of a task's answers beside that of its reference answers."""

    answers: float
    references: float

    @property
    def share(self) -> float:
        """Return what the answers' number is above one as a share of the references', in [0, 1]; 0 for a constant."""
        if self.references <= 1 + 1e-9:
            return 1.0
        return min(1.0, (self.answers - 1) / (self.references - 1))


def variety_of(rollouts: Sequence[Rollout]) -> Variety | None:
    """Return the variety of one task's answers, each prompt's first; None without references."""
    known = {rollout.prompt_id: rollout for rollout in reversed(rollouts) if rollout.reference}
    if not known:
        return None
    right = [TASKS[each.task].answer(each.reference or {}) for each in known.values()]
    return Variety(effective_number([each.completion for each in known.values()]), effective_number(right))


def effective_number(texts: Sequence[str]) -> float:
    """Return how many equally frequent texts would be as uncertain: the exponential of Shannon's entropy.

    It is 1 where all are the same and their number where all differ (Hill, 1973, "Diversity and evenness", order 1).
    Texts that differ in case, spacing, punctuation, quotes or brackets alone are the same.
    """
    counts = Counter(" ".join(FORM.sub(" ", text.casefold()).split()) for text in texts)
    return math.exp(-sum(count / len(texts) * math.log(count / len(texts)) for count in counts.values()))
