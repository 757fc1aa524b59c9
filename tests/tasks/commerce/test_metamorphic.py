"""What must and must not change a reward, for every task: errors, form, and the ways to earn without an answer."""

import json
from collections.abc import Mapping
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.tasks import TASK_NAMES, SpecName, TaskName
from tasks.commerce.example import Example
from tasks.commerce.registry import TASKS, reward_of
from tasks.commerce.sql_qa.sandbox import Databases
from tests.tasks.commerce.scoring import HOSTILE, reward, score

Examples = Mapping[TaskName, list[Example]]


def answer(example: Example) -> str:
    return TASKS[example.task].answer(example.reference)


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)


def in_every_place(right: str, value: object) -> list[str]:
    """Return an answer in JSON with a value in place of each of its own."""
    try:
        fields = json.loads(right)
    except ValueError:
        return []
    found = [{**fields, key: value} for key in fields]
    for key, listed in fields.items():
        if isinstance(listed, list) and listed:
            found += [{**fields, key: [value, {**listed[0], name: value}]} for name in listed[0]]
    return [json.dumps(each) for each in [*found, value]]


@pytest.mark.parametrize("spec", ["grounded", "v4.2"])
@pytest.mark.parametrize("name", TASK_NAMES)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(hostile=HOSTILE, value=ANY_JSON)
def test_no_string_raises_and_components_stay_in_bounds(
    name: TaskName, spec: SpecName, hostile: str, value: object, examples: Examples, databases: Databases
) -> None:
    example = examples[name][0]
    specified = reward_of(name, spec)
    references = (example.reference, None, dict.fromkeys(example.reference))
    completions = [hostile, *in_every_place(answer(example), value)]
    for reference, completion in product(references, completions):
        scored = score(name, completion, reference, example.prompt, databases, spec)
        assert set(scored.components) == set(specified.weights)
        assert all(0 <= value <= 1 for value in scored.components.values())
        assert scored.reward == specified.total(scored.components)
        assert 0 <= scored.reward <= 1
        truth = TASKS[name].metric([scored], databases)
        assert all(0 <= value <= 1 for value in truth.values())
        json.dumps(scored.model_dump(exclude={"completion"}), allow_nan=False)


@pytest.mark.parametrize("name", TASK_NAMES)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.floats(0, 1), insert=HOSTILE)
def test_no_damage_to_an_answer_earns_more_than_the_answer(
    name: TaskName, cut: float, insert: str, examples: Examples, databases: Databases
) -> None:
    example = examples[name][1]
    right = answer(example)
    place = round(cut * len(right))
    best = reward(example, right, databases) + 1e-9
    assert reward(example, right[:place], databases) <= best
    assert reward(example, right[:place] + insert + right[place:], databases) <= best
