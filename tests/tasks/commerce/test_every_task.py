"""Every part that a task needs is there and fits the others; what is missing is found here, not in a run."""

import json
import random
from collections.abc import Mapping
from importlib import import_module

import pytest

from schemas.references import REFERENCES, check_reference
from schemas.source import REPOSITORY, source_files
from schemas.store.column_map import NEEDED_BY_TASK
from schemas.tasks import TASK_NAMES, TaskName
from tasks.audit.alterations.run import run_alterations
from tasks.audit.labelling import rubric
from tasks.commerce.example import Example
from tasks.commerce.registry import TASKS, score_rollout
from tasks.commerce.sql_qa.sandbox import Databases
from tests.tasks.commerce.scoring import rollouts

Examples = Mapping[TaskName, list[Example]]
PARTS = (
    *("tasks/commerce/{}/scorer.py", "tasks/commerce/{}/prompts.py", "tasks/commerce/{}/task.py"),
    "tasks/commerce/{}/truth.py",
    *("data/wordings/{}.toml", "data/audit/rubrics/{}.md"),
)

pytestmark = pytest.mark.parametrize("name", TASK_NAMES)


def test_its_files_are_where_they_are_looked_for(name: TaskName) -> None:
    assert [part.format(name) for part in PARTS if not (REPOSITORY / part.format(name)).is_file()] == []
    assert name in REFERENCES, f"add the keys of {name}'s references to schemas/references.py"
    page = (REPOSITORY / "docs" / "documents.md").read_text(encoding="utf-8")
    assert f"\n| {name} | `{{" in page, f"add a row of {name}'s references to docs/documents.md"
    assert name in NEEDED_BY_TASK, f"add the tables that {name} is made from to schemas/store/column_map.py"


def test_its_task_is_complete(name: TaskName) -> None:
    task = TASKS[name]
    assert task.name == name
    assert task.description, f"begin tasks/commerce/{name}/task.py with a docstring `Name: description.`"
    assert task.rewards.keys() == {"grounded", "v4.2"}
    grounded = task.rewards["grounded"].weights
    for weights in (reward.weights.values() for reward in task.rewards.values()):
        assert sum(weight for weight in weights if weight > 0) == pytest.approx(1.0)
    assert task.content
    assert task.content < {part for part, weight in grounded.items() if weight > 0}
    assert rubric(name).strip()


def test_its_reward_is_that_of_its_scorer_whose_version_holds_no_prompts(name: TaskName) -> None:
    assert TASKS[name].rewards["grounded"].score.__module__ == f"tasks.commerce.{name}.scorer"
    used = source_files(f"tasks.commerce.{name}.scorer").keys()
    assert not used & {f"tasks.commerce.{name}.{part}" for part in ("prompts", "task", "truth")}
    assert not [part for part in used if part.startswith(("data/wordings", "data/questions"))]
    assert not used & {f"tasks.commerce.{other}" for other in TASK_NAMES if other != name}
    assert import_module(f"tasks.commerce.{name}.truth").metric is TASKS[name].metric


def test_its_examples_have_its_system_prompt_and_references_and_a_source_if_they_need_one(
    name: TaskName, examples: Examples
) -> None:
    """Prompts without a source are kept apart by their references, which must then identify the question."""
    for example in examples[name]:
        assert (example.task, example.system) == (name, TASKS[name].system)
        check_reference(name, example.reference)
        has_source = bool(example.customer_id or example.order_id or example.review_id)
        assert has_source != TASKS[name].asked_by_reference


def test_its_reference_answer_is_right_by_reward_and_metric(
    name: TaskName, examples: Examples, databases: Databases
) -> None:
    task = TASKS[name]
    answered = rollouts(examples[name])
    for rollout in answered:
        scored = score_rollout(rollout, databases)
        assert scored.reward > 0.9
        assert score_rollout(rollout, databases, "v4.2").components.keys() == task.rewards["v4.2"].weights.keys()
        assert (scored.parsed is not None) == task.answers_in_json
        if task.answers_in_json:
            assert isinstance(json.loads(rollout.completion), dict)
    metrics = task.metric(answered, databases)
    assert task.answer_metrics
    assert {metrics[metric] for metric in task.answer_metrics} == {1.0}
    assert task.metric([answered[0].model_copy(update={"reference": None})], databases) == {}


def test_a_prompt_that_it_does_not_read_changes_nothing(
    name: TaskName, examples: Examples, databases: Databases
) -> None:
    if not TASKS[name].prompt_is_unread:
        pytest.skip("its reward reads the prompt")
    for rollout in rollouts(examples[name]):
        other = rollout.model_copy(update={"prompt": "Nota: 1"})
        assert score_rollout(other, databases).components == score_rollout(rollout, databases).components


def test_its_faults_spoil_most_answers_and_not_all(name: TaskName, examples: Examples) -> None:
    generator = random.Random(3)
    answers = [TASKS[name].answer(each.reference) for each in examples[name][:40]]
    unspoilt = [TASKS[name].faults(right, generator) == right for right in answers for _ in range(50)]
    assert 0.002 < sum(unspoilt) / len(unspoilt) < 0.35


def test_its_reward_passes_its_probes(name: TaskName, examples: Examples, databases: Databases) -> None:
    found = run_alterations(name, rollouts(examples[name]), lambda rollout: score_rollout(rollout, databases))
    assert {kind: probe.detail for kind, probe in found.items() if not probe.passed} == {}
