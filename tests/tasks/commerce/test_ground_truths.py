"""Ground truths of all tasks: apart from the rewards, never at a loss, and blind only where they say so."""

import random
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.documents import Rollout
from schemas.source import source_files
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce import registry
from tasks.commerce.example import Example
from tasks.commerce.registry import TASKS, score_rollout
from tasks.commerce.reward import Reward, Score
from tasks.commerce.sql_qa.sandbox import Databases
from tests.tasks.commerce.scoring import completions

Examples = Mapping[TaskName, list[Example]]


def rollout(example: Example, completion: str) -> Rollout:
    return Rollout(
        prompt_id="p",
        task=example.task,
        prompt=example.prompt,
        completion=completion,
        reference=dict(example.reference),
    )


@pytest.mark.parametrize("name", TASK_NAMES)
def test_its_truth_reads_nothing_that_decides_its_reward(name: TaskName) -> None:
    truth = source_files(f"tasks.commerce.{name}.truth")
    reward = source_files(f"tasks.commerce.{name}.scorer")
    shared = {found for found in truth.keys() & reward.keys() if not found.startswith("schemas")}
    # The sandbox runs SQL for both, `reward` names the type of a reference, and what may be said is data.
    assert {found for found in shared if not found.startswith("data/")} <= {
        *("tasks", "tasks.commerce", f"tasks.commerce.{name}", "tasks.commerce.reward", "tasks.commerce.sql_qa"),
        *(f"tasks.commerce.sql_qa.{module}" for module in ("sandbox", "store_copies")),
    }


@pytest.mark.parametrize("name", TASK_NAMES)
def test_a_reward_that_pays_for_everything_does_not_move_the_truth(
    name: TaskName, examples: Examples, databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [
        rollout(example, completion)
        for example in examples[name]
        for completion in (TASKS[name].answer(example.reference), "Não sei.", example.prompt, "{}")
    ]
    before = [TASKS[name].metric([each], databases) for each in answers]
    weights = TASKS[name].rewards["grounded"].weights
    loophole = Reward(weights, lambda *_: Score(dict.fromkeys(weights, 1.0)))
    gamed = replace(TASKS[name], rewards={**TASKS[name].rewards, "grounded": loophole})
    monkeypatch.setattr(registry, "TASKS", MappingProxyType({**TASKS, name: gamed}))

    assert {score_rollout(each, databases).reward for each in answers} == {1.0}
    assert [registry.TASKS[name].metric([each], databases) for each in answers] == before


@pytest.mark.parametrize("name", TASK_NAMES)
@given(data=st.data())
@settings(deadline=None, max_examples=60)
def test_no_text_is_too_hostile(name: TaskName, examples: Examples, databases: Databases, data: st.DataObject) -> None:
    example = data.draw(st.sampled_from(examples[name]))
    right = TASKS[name].answer(example.reference)
    hostile = st.one_of(
        completions(st.dictionaries(st.text(max_size=20), st.from_type(int) | st.text() | st.none())),
        st.builds(
            lambda text, place: right[:place] + text + right[place:],
            st.text(alphabet=st.characters()),
            st.integers(0, len(right)),
        ),
        st.builds(
            lambda text, times: text * times,
            st.sampled_from([right, "1.000 ", "SP ", "não ", "(", "%"]),
            st.integers(1, 3_000),
        ),
    )  # fmt: skip
    found = TASKS[name].metric([rollout(example, data.draw(hostile))], databases)
    assert found
    assert all(0 <= value <= 1 for value in found.values())


def test_the_truth_of_a_batch_is_the_mean_of_its_answers(examples: Examples, databases: Databases) -> None:
    generator = random.Random(1)
    for name in ("insights", "push", "sql_qa"):
        task = TASKS[name]
        batch = [
            rollout(example, task.answer(generator.choice(examples[name]).reference)) for example in examples[name]
        ]
        whole: dict[str, Any] = task.metric(batch, databases)
        single = [task.metric([each], databases) for each in batch]
        for metric in task.answer_metrics:
            assert whole[metric] == pytest.approx(sum(each[metric] for each in single) / len(single))
