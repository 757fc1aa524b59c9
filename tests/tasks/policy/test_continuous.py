"""The continuous engine: rows that come and go, each drawn as if it were alone."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.errors import InputError
from tasks.policy.continuous import ContinuousEngine, DrawnRow
from tasks.policy.engine import Engine
from tasks.policy.guidance import Sampled, keys_of
from tasks.policy.load import load_policy

SEED = 5
END = 2
ENDS = {END, *range(8, 20)}
"""So many that completions are of many lengths."""
MOST = 14
ROWS = 4


@pytest.fixture(scope="module")
def policy(base: Path) -> Any:
    model = load_policy(base, None, four_bit=False)
    for weight in model.parameters():
        # Larger than at the start of a training, so that tokens depend on their prompts.
        weight.data.mul_(3)
    return model


@pytest.fixture(scope="module")
def prompts() -> list[tuple[int, ...]]:
    """Prompts of many lengths; two of three begin with one of two turns, which are themselves alike."""
    generator = random.Random(1)
    turns: list[list[int]] = [[29, 30, 31, END], [29, 30, 32, 33, 34, END], []]
    lengths = (1, 3, 17, 6, 30, 2, 9, 11, 5)
    return [(*turns[n % 3], *(generator.randrange(20, 250) for _ in range(length))) for n, length in enumerate(lengths)]


@pytest.fixture(scope="module")
def alone(policy: Any, prompts: list[tuple[int, ...]]) -> list[list[int]]:
    """What each prompt is answered alone, by the engine that training draws with."""
    engine = Engine(policy)
    return [engine.draw([prompt], _choice(prompt), most=MOST, ends=ENDS)[0] for prompt in prompts]


@pytest.fixture(scope="module")
def engine(policy: Any) -> ContinuousEngine:
    return ContinuousEngine(policy, rows=ROWS, longest=60, ends=ENDS)


def _choice(prompt: Sequence[int]) -> Sampled:
    # Each prompt has its own temperature.
    return Sampled(keys_of([prompt], SEED), temperature=0.5 + len(prompt) / 20)


def _row(prompt: tuple[int, ...], most: int = MOST) -> DrawnRow:
    return DrawnRow(prompt, _choice(prompt), most)


def _empty(engine: ContinuousEngine) -> None:
    for row in list(engine.rows):
        engine.leave(row)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(st.just("step"), st.integers(0, 17), st.sampled_from(["leave 0", "leave 1", "leave 3"]))))
def test_a_row_is_drawn_as_if_it_were_alone_whoever_joins_and_leaves(
    engine: ContinuousEngine, prompts: list[tuple[int, ...]], alone: list[list[int]], acts: list[Any]
) -> None:
    """Red for a moved row with another's keys, a mask one token off, shared noise, or a place that is not freed."""
    _empty(engine)
    begun: list[tuple[int, DrawnRow]] = []
    left: list[tuple[DrawnRow, int]] = []
    for act in [*acts, *["step"] * MOST]:
        if act == "step":
            before = [(row, len(row.drawn)) for row in engine.rows]
            engine.step()
            assert all(len(row.drawn) == count + 1 for row, count in before)
        elif isinstance(act, int) and len(engine.rows) < ROWS:
            # Every second one is a single token, and ends as it joins.
            number, most = act // 2, (MOST, 1)[act % 2]
            begun.append((number, _row(prompts[number], most)))
            engine.join(begun[-1][1])
            assert begun[-1][1].ended == (begun[-1][1] not in engine.rows)
        elif isinstance(act, str) and (place := int(act[-1])) < len(engine.rows):
            left.append((engine.rows[place], len(engine.rows[place].drawn)))
            engine.leave(left[-1][0])
    assert engine.rows == []
    gone = {id(row): count for row, count in left}
    for number, row in begun:
        assert row.drawn == alone[number][: gone.get(id(row), row.most)]
        assert row.ended == (id(row) not in gone)


def test_a_row_whose_choice_fails_leaves_and_the_others_go_on(
    engine: ContinuousEngine, prompts: list[tuple[int, ...]], alone: list[list[int]]
) -> None:
    _empty(engine)
    rows = [_row(prompts[2]), _row(prompts[4]), _row(prompts[7])]
    rows[0].choice = _failing_after(3, rows[0].choice)
    for row in rows:
        engine.join(row)
    for _ in range(MOST):
        engine.step()
    assert rows[0].fault == "guided decoding stopped"
    assert rows[0].ended
    assert rows[0].drawn == alone[2][:3]
    assert [row.drawn for row in rows[1:]] == [alone[4], alone[7]]
    assert [row.fault for row in rows[1:]] == [None, None]


def _failing_after(count: int, choice: Any) -> Any:
    called: list[Callable[..., Any]] = []

    def fail(logits: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
        called.append(choice)
        if len(called) > count:
            raise InputError("guided decoding stopped")
        chosen: torch.Tensor = choice(logits, last)
        return chosen

    return fail
