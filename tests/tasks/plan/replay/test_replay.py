"""The plan of the laptop's profile, replayed: it recommends what was best on the test split, for fewer sampled tokens.

`pytest -s` prints the table. The cheap scores are of validation, and the learners' rewards of the test split.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from schemas.tasks import TASK_NAMES, TaskName
from tasks.plan.plan import Terms, plan_training
from tasks.plan.scores import CheapScores, Group, joined
from tests.tasks.plan.scored import scored

REPLAY: Final[Mapping[str, Any]] = json.loads(Path(__file__).with_name("replay.json").read_text(encoding="utf-8"))
NEAR: Final = 0.02
TOKENS: Final = 0.6
TEST_PROMPTS: Final = 40


def scores_of(task: TaskName) -> CheapScores:
    served = {rung: by_task[task] for rung, by_task in REPLAY["served"].items() if task in by_task}
    groups = tuple(
        Group(model="sft", task=task, prompt_id=f"{task}-{prompt}", scores=tuple(of_prompt))
        for prompt, of_prompt in REPLAY["groups"][task].items()
    )
    return scored(task, served).model_copy(update={"groups": groups})


def test_the_recommended_learner_is_as_good_as_the_best_single_one_for_fewer_tokens() -> None:
    scores = joined([scores_of(task) for task in TASK_NAMES])
    plan = plan_training(scores, Terms("sft", dict.fromkeys(TASK_NAMES, TEST_PROMPTS)))
    rewards: Mapping[str, Mapping[TaskName, float]] = REPLAY["test"]
    best = max(rewards, key=lambda learner: sum(rewards[learner].values()))
    print(*plan.table(), "", f"{'test':<10}{'learner':>9}{'its':>9}{best:>9}", sep="\n")
    near = 0
    for task, found in plan.tasks.items():
        reached, single = rewards[found.learner][task], rewards[best][task]
        near += reached >= single - NEAR
        print(f"{task:<10}{found.learner:>9}{reached:>9.3f}{single:>9.3f}")
    spent = REPLAY["plan_tokens"] + REPLAY["grpo_tokens"] * len(plan.worth) / len(plan.tasks)
    print(f"sampled tokens: {spent:,.0f} of {REPLAY['grpo_tokens']:,}, {spent / REPLAY['grpo_tokens']:.0%}")
    assert near >= 5
    assert best == "GRPO"
    assert spent <= TOKENS * REPLAY["grpo_tokens"]


def test_with_ten_times_the_test_prompts_the_task_with_most_room_is_worth_a_training() -> None:
    scores = joined([scores_of(task) for task in TASK_NAMES])
    plan = plan_training(scores, Terms("sft", dict.fromkeys(TASK_NAMES, 10 * TEST_PROMPTS)))
    assert "insights" in plan.worth
    assert not {"sql_qa", "push"} & {*plan.worth}
