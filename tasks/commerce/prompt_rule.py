"""Rule on a prompt's own lines: a constant answer for each value of a line such as `Nota: 5`, the text unread.

The cheapest reader of a prompt. What it earns is earned without the work, by a policy as by a baseline.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

LINE: Final = re.compile(r"^([^\W\d][\w ]{0,40}): (.+)$", re.MULTILINE)
FREE_TEXT: Final = "Avaliação"
"""Name of the line that is what a shopper wrote."""
MOST_VALUES: Final = 12
"""A line with more values, such as a sum of money, decides nothing."""


class PromptRule(NamedTuple):
    """A constant for each value of some lines."""

    names: tuple[str, ...]
    """The lines that it reads."""
    by_value: Mapping[tuple[str, ...], str]
    """The answer, by the lines' values."""
    usual: str
    """The answer to other values."""

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
    """Return the rule that earns most on prompts that did not choose its constants; None without lines to read.

    Args:
        prompts: Prompts of one task.
        constants: The answers that it may give; one or more.
        earned: What each of them earns on each prompt, shape (prompts, constants).
    """
    lines = [lines_of(prompt) for prompt in prompts]
    names = [
        name
        for name in dict.fromkeys(name for known in lines for name in known)
        if 1 < len({known.get(name) for known in lines}) <= MOST_VALUES
    ]
    if not names:
        return None
    rules = [(name,) for name in names] + ([tuple(names)] if len(names) > 1 else [])
    chosen = max(rules, key=lambda read: _earns(read, lines, earned))
    by_value = {value: constants[place] for value, place in _places(chosen, lines, earned).items()}
    return PromptRule(chosen, by_value, constants[_best_place(earned)])


def _earns(read: tuple[str, ...], lines: Sequence[Mapping[str, str]], earned: Sequence[Sequence[float]]) -> float:
    """Return what a rule earns on every second prompt, with the constants that the others choose."""
    places, usual = _places(read, lines[::2], earned[::2]), _best_place(earned[::2])
    pairs = zip(lines[1::2], earned[1::2], strict=True)
    return sum(row[places.get(_value(read, known), usual)] for known, row in pairs)


def _places(
    read: tuple[str, ...], lines: Sequence[Mapping[str, str]], earned: Sequence[Sequence[float]]
) -> dict[tuple[str, ...], int]:
    """Return the place of the constant that earns most for each value of the lines."""
    by_value: defaultdict[tuple[str, ...], list[Sequence[float]]] = defaultdict(list)
    for known, row in zip(lines, earned, strict=True):
        by_value[_value(read, known)].append(row)
    return {value: _best_place(rows) for value, rows in by_value.items()}


def _best_place(earned: Sequence[Sequence[float]]) -> int:
    return max(range(len(earned[0])), key=lambda place: sum(row[place] for row in earned))


def _value(read: tuple[str, ...], known: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(known.get(name, "") for name in read)
