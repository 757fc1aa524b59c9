"""Ground truths of all tasks: apart from the rewards, never at a loss, and blind only where they say so."""

import random
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.documents import Rollout
from schemas.source import REPOSITORY, source_files
from schemas.tasks import TASK_NAMES, TaskName
from tasks.audit.critic.alteration import Case
from tasks.audit.critic.critic import ALTERATIONS, case_of
from tasks.commerce import registry
from tasks.commerce.example import Example
from tasks.commerce.registry import TASKS, score_rollout
from tasks.commerce.reward import Reward, Score
from tasks.commerce.sql_qa.sandbox import Databases
from tests.tasks.audit.critic import fresh_cases
from tests.tasks.commerce.scoring import completions

Examples = Mapping[TaskName, list[Example]]
STRICTEST: Final[Mapping[TaskName, tuple[str, ...]]] = {
    "extraction": ("exact", "field_f1"),
    "sql_qa": ("execution_accuracy",),
    "insights": ("all_kept",),
    "push": ("all_kept",),
    "sentiment": ("accuracy", "stars"),
    "churn": ("accuracy",),
}
"""Metrics of which one must fall where an answer is spoiled."""
SEEN: Final[Mapping[TaskName, float]] = {
    "extraction": 0.95, "sql_qa": 0.85, "insights": 0.57, "push": 0.86, "sentiment": 0.90, "churn": 0.40,
}  # fmt: skip
"""Least share of the critic's corruptions that are seen; a reason of churn is measured by `reason_true` beside."""
KEPT: Final = 0.95
"""Least share of the critic's rewrites that stay right."""


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
    # The sandbox runs SQL for both, and `reward` names the type of a reference.
    assert shared <= {
        *("tasks", "tasks.commerce", f"tasks.commerce.{name}", "tasks.commerce.reward", "tasks.commerce.sql_qa"),
        *(f"tasks.commerce.sql_qa.{module}" for module in ("sandbox", "dates", "store_copies")),
    }
    assert (REPOSITORY / "data" / "truth").is_dir()


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


@pytest.mark.slow
@pytest.mark.parametrize("name", TASK_NAMES)
def test_rewrites_stay_right_and_most_corruptions_are_seen(name: TaskName) -> None:
    """The critic's library is an independent measure: it was written by other hands, and no truth reads it."""
    databases, witness = (fresh_cases.databases(), fresh_cases.witness()) if name == "sql_qa" else (None, None)
    agreed: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for row in fresh_cases.rows(name):
        case = case_of(row, witness)
        good = _strictest(case, case.answer, databases)
        for alteration in ALTERATIONS[name]:
            completion = alteration.apply(case, fresh_cases.SEED)
            if completion is not None:
                found = _strictest(case, completion, databases)
                worse = any(one < other for one, other in zip(found, good, strict=True))
                agreed[alteration.kind, alteration.name].append(worse == (alteration.kind == "corruption"))
    means: dict[str, list[float]] = defaultdict(list)
    for (kind, _), judged in agreed.items():
        means[kind].append(sum(judged) / len(judged))
    assert sum(means["rewrite"]) / len(means["rewrite"]) >= KEPT
    assert sum(means["corruption"]) / len(means["corruption"]) >= SEEN[name]


def _strictest(case: Case, completion: str, databases: Databases | None) -> list[float]:
    answer = Rollout(
        prompt_id="p", task=case.task, prompt=case.prompt, completion=completion, reference=dict(case.reference)
    )
    found = TASKS[case.task].metric([answer], databases)
    return [found[metric] for metric in STRICTEST[case.task]]


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
