"""Grammar of an automaton: what an answer may say depends on what it has said."""

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

State = TypeVar("State", bound=Hashable)


def automaton(start: State, moves: Callable[[State], Iterable[tuple[str, State | None]]]) -> str:
    """Return the rules of a grammar that begins in a state and ends with a move to None.

    A move is a text in the grammar's notation, `""` for nothing, and the state that it leads to.
    """
    names: dict[State | None, str] = {None: "", start: "start"}
    states, rules = [start], []
    for state in states:
        texts: dict[State | None, list[str]] = {}
        for text, after in moves(state):
            texts.setdefault(after, []).append(text or '""')
            if after is not None and after not in names:
                names[after] = f"state_{len(states)}"
                states.append(after)
        ways = (f"({' | '.join(some)}) {names[after]}" for after, some in texts.items())
        rules.append(f"{names[state]}: {' | '.join(ways)}")
    return "\n".join(rules)
