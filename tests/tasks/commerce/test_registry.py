"""What holds for every task alike: ceilings, floors, and what must change nothing."""

import random

import pytest

from schemas.documents import Rollout
from schemas.references import check_reference
from schemas.store.files import read_store
from schemas.store.store import Store
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.registry import TASKS, reward_version, score_rollout
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.synthesize.simulated import simulate_store
from tests.schemas.olist_sample import SAMPLE, needs_sample
from tests.tasks.commerce.scoring import reward, rollouts

COUNT = 12


@pytest.mark.parametrize("name", TASK_NAMES)
def test_examples_are_as_many_as_asked_different_and_repeatable(name: TaskName, store: Store) -> None:
    made = list(EXAMPLE_MAKERS[name](store, random.Random(3), 30))
    assert len(made) == len({example.prompt for example in made}) == 30
    assert made == list(EXAMPLE_MAKERS[name](store, random.Random(3), 30))
    assert made != list(EXAMPLE_MAKERS[name](store, random.Random(4), 30))
    assert list(EXAMPLE_MAKERS[name](store, random.Random(3), 0)) == []


@pytest.mark.parametrize(("name", "least"), [("extraction", 1.0), ("insights", 1.0), ("push", 0.9), ("churn", 0.5)])
def test_right_answers_of_a_large_store_keep_the_truth_and_are_served(name: TaskName, least: float) -> None:
    """Whether a shopper leaves is chance in part, so that the lines of some speak against the outcome."""
    made = list(EXAMPLE_MAKERS[name](simulate_store(1_000, random.Random("right answers")), random.Random(1), 300))
    found, task = rollouts(made), TASKS[name]
    assert len(found) == 300
    assert min(score_rollout(each, None).reward for each in found) >= least - 1e-9
    metrics = task.metric(found, None)
    assert {metrics[metric] for metric in task.answer_metrics} == {1.0}
    for each in found:
        check_reference(name, dict(each.reference or {}))
        assert task.serve(each.completion, each.prompt, None).checked, each.prompt


def test_a_scored_rollout_keeps_what_it_came_with_and_can_be_scored_again() -> None:
    rollout = Rollout.model_validate(
        {"prompt_id": "p", "task": "sentiment", "prompt": "?", "completion": "{}", "reference": None, "latency": 3}
    )
    scored = score_rollout(rollout, None)
    assert scored.model_dump()["latency"] == 3
    assert scored.spec == "grounded"
    assert scored.reward_version == reward_version(scored.task)
    assert score_rollout(scored, None) == scored


@needs_sample
def test_real_reviews_become_prompts_whose_answers_earn_nearly_all() -> None:
    store = read_store(SAMPLE)
    databases = Databases.from_store(store)
    for name in TASK_NAMES:
        made = list(EXAMPLE_MAKERS[name](store, random.Random(1), COUNT))
        assert len(made) == (0 if name == "churn" else COUNT)
        assert all(reward(example, TASKS[name].answer(example.reference), databases) > 0.95 for example in made)
