"""Prompts by rounds: each row once a round, and a resumed run draws what an uninterrupted one would."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import InputError
from schemas.tables.prompts import PromptRow
from schemas.tasks import TaskName
from tasks.train.prompt_source import PromptSource

SIZES = st.integers(1, 12)
SEEDS = st.integers(0, 1000)
EXPECTED = (5, 2, 4, 3, 1, 0)


def _rows(count: int, task: TaskName = "push") -> list[PromptRow]:
    return [
        PromptRow(f"{task}-{number}", task, "Responda.", f"pergunta {number}", {}, "simulated", None, None, None)
        for number in range(count)
    ]


def _ids(rows: Sequence[PromptRow]) -> list[str]:
    return [row.prompt_id for row in rows]


def _saved(source: PromptSource, rows: Sequence[PromptRow], seed: int) -> PromptSource:
    resumed = PromptSource(rows, seed)
    resumed.load_state_dict(json.loads(json.dumps(source.state_dict(), sort_keys=True)))
    return resumed


@given(size=SIZES, seed=SEEDS, counts=st.lists(st.integers(0, 15), max_size=20))
def test_each_round_has_every_row_once(size: int, seed: int, counts: list[int]) -> None:
    source = PromptSource(_rows(size), seed)
    drawn = [name for count in counts for name in _ids(source.draw(count))]
    assert len(drawn) == sum(counts)
    for start in range(0, len(drawn) - size + 1, size):
        assert len(set(drawn[start : start + size])) == size


@given(size=SIZES, seed=SEEDS, counts=st.lists(st.integers(0, 15), min_size=1, max_size=12), data=st.data())
def test_a_resumed_run_draws_the_same_prompts(size: int, seed: int, counts: list[int], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(counts)))
    rows = _rows(size, "push") + _rows(size, "churn")
    uninterrupted, source = PromptSource(rows, seed), PromptSource(rows, seed)
    wanted, found = list[PromptRow](), list[PromptRow]()
    for step, count in enumerate(counts):
        if step == cut:
            source = _saved(source, rows, seed)
        counts_of: dict[TaskName, int] = {"churn": count, "push": count // 2}
        wanted += uninterrupted.draw(count) + uninterrupted.draw_of(counts_of)
        found += source.draw(count) + source.draw_of(counts_of)
    assert _ids(found) == _ids(wanted)


def test_the_order_is_the_same_on_every_machine() -> None:
    source = PromptSource(_rows(6), 42)
    first, second = _ids(source.draw(6)), _ids(source.draw(6))
    assert first == [f"push-{number}" for number in EXPECTED]
    assert second != first, "each round has an order of its own"


@pytest.mark.parametrize(
    ("rows", "seed", "said"),
    [
        (_rows(4), 0, "rows 5, here 4"),
        (_rows(4) + _rows(1, "churn"), 0, "prompts"),
        (_rows(5)[::-1], 0, "prompts"),
        (_rows(5), 1, "seed 0, here 1"),
    ],
    ids=["fewer rows", "another row", "another order", "another seed"],
)
def test_the_state_of_another_dataset_is_refused(rows: list[PromptRow], seed: int, said: str) -> None:
    state = PromptSource(_rows(5), 0).state_dict()
    with pytest.raises(InputError, match=said):
        PromptSource(rows, seed).load_state_dict(state)
