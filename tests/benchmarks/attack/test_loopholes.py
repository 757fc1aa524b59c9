from collections import Counter
from statistics import fmean

import pytest

from benchmarks.attack.clean import CLEAN, MOST_OF_OTHERS
from benchmarks.attack.loopholes import LOOPHOLES, Loophole
from benchmarks.attack.trial import Trial, run_trial
from schemas.tasks import TASK_NAMES, TaskName
from tasks.audit.critic.alteration import Case
from tasks.commerce.registry import TASKS
from tasks.commerce.reward import Reward
from tests.tasks.audit.attack.settings import case
from tests.tasks.audit.critic.fresh_cases import databases

PROMPTS = 20


def earned(reward: Reward, asked: Case, text: str) -> float:
    of_store = databases() if asked.task == "sql_qa" else None
    return reward.total(reward.score(text, asked.prompt, asked.reference, of_store).components)


def test_there_are_twenty_loopholes_and_three_of_every_task() -> None:
    assert len(LOOPHOLES) == 20
    assert min(Counter(hole.task for hole in LOOPHOLES)[task] for task in TASK_NAMES) >= 3
    assert CLEAN.keys() == set(TASK_NAMES)


@pytest.mark.parametrize("hole", LOOPHOLES, ids=lambda hole: hole.name)
def test_a_loophole_pays_for_its_witness_what_the_reward_without_it_does_not(hole: Loophole) -> None:
    own = TASKS[hole.task].rewards["grounded"]
    cases = [case(hole.task, number) for number in range(PROMPTS)]
    more = [
        earned(hole.planted(own), asked, hole.witness(asked)) - earned(own, asked, hole.witness(asked))
        for asked in cases
    ]

    assert fmean(more) > 0.1
    assert max(more) > 0.3


@pytest.mark.parametrize("task", TASK_NAMES)
def test_a_clean_reward_pays_for_the_answer_alone(task: TaskName) -> None:
    asked = case(task)
    reward = CLEAN[task]

    assert earned(reward, asked, asked.answer) == 1
    for text in (f"{asked.answer}\nmais", asked.answer[:-2], "", "{}", asked.prompt):
        assert earned(reward, asked, text) <= MOST_OF_OTHERS


@pytest.mark.parametrize("name", ["nothing_is_right", "emoji_is_style", "text_after_unread"])
def test_the_search_finds_a_planted_loophole(name: str) -> None:
    outcome = run_trial(Trial(name, 0, 6_000, 120.0))

    assert outcome.found
    assert outcome.completion
