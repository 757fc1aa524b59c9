"""Form that counts only above a threshold of content."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.tasks import SPEC_NAMES, TASK_NAMES, SpecName, TaskName
from tasks.commerce.registry import TASKS, reward_of
from tasks.train.methods.conditional import PARTS, gate_components

EXTRACTION = {"json": 1.0, "schema": 0.9, "types": 0.8, "values": 0.6}


def test_a_penalty_is_neither_form_nor_content() -> None:
    form, content = PARTS["v4.2"]["extraction"]
    assert set(TASKS["extraction"].rewards["v4.2"].weights) - form == {"mismatch"}
    assert not content


def test_form_counts_from_the_threshold_on() -> None:
    """GDPO, eq. 8: r_k where the harder reward reaches t, else 0."""
    assert gate_components("extraction", "grounded", EXTRACTION, 0.6) == EXTRACTION
    gated = {"json": 0.0, "schema": 0.0, "types": 0.0, "values": 0.6}
    assert gate_components("extraction", "grounded", EXTRACTION, 0.61) == gated


def test_content_of_two_components_is_their_weighted_mean() -> None:
    """SQL: (.15 x 1 + .6 x 0) / .75 = .2, where a plain mean were .5."""
    components = {"form": 1.0, "valid": 1.0, "uses": 1.0, "shape": 1.0, "result": 0.0}
    gated = {"form": 0.0, "valid": 0.0, "uses": 1.0, "shape": 0.0, "result": 0.0}
    assert gate_components("sql_qa", "grounded", components, 0.19) == components
    assert gate_components("sql_qa", "grounded", components, 0.21) == gated


@pytest.mark.parametrize("task", TASK_NAMES)
def test_a_reward_of_form_alone_is_left_as_it_is(task: TaskName) -> None:
    components = dict.fromkeys(TASKS[task].rewards["v4.2"].weights, 0.3)
    assert gate_components(task, "v4.2", components, 1.0) == components


@given(spec=st.sampled_from(SPEC_NAMES), task=st.sampled_from(TASK_NAMES), threshold=st.floats(0, 1), data=st.data())
def test_gating_only_ever_takes_away_form(
    spec: SpecName, task: TaskName, threshold: float, data: st.DataObject
) -> None:
    reward = reward_of(task, spec)
    components = {name: data.draw(st.floats(0, 1)) for name in reward.weights}
    gated = gate_components(task, spec, components, threshold)
    assert reward.total(gated) <= reward.total(components)
    assert list(gated) == list(components)
    for name, value in gated.items():
        assert value == components[name] or (value == 0 and name in PARTS[spec][task].form)
    assert gate_components(task, spec, components, 0.0) == components
