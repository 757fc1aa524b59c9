"""The rewards as TRL sees them: one function a component, silent outside its task."""

from collections.abc import Sequence

import pytest

from schemas.documents import ScoredRollout
from schemas.tables.prompts import PromptRow
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.policy.generate import Completion, StopReason
from tasks.train.grpo.rewards import ComponentRewards
from tests.tasks.train.small_training import prompt_rows

ROWS = prompt_rows("push", "sentiment", each=1)
TEXTS = {"push": "Oi! {produto} com {oferta}. Confira!", "sentiment": '{"polarity":"positive","score":5}'}


def _score(rewards: ComponentRewards, rows: Sequence[PromptRow]) -> list[ScoredRollout]:
    return rewards.score(rows, [Completion(TEXTS[row.task], 7, StopReason.END_OF_TURN) for row in rows])


@pytest.fixture
def rewards() -> ComponentRewards:
    return ComponentRewards(Databases(()), "grounded")


def test_a_function_abstains_outside_its_task(rewards: ComponentRewards) -> None:
    rows = [*ROWS, ROWS[0]]
    rewards.set_batch(rewards.components(_score(rewards, rows)))
    for function in rewards.functions():
        spoke = [value is not None for value in function(prompts=[], completions=[])]
        assert spoke == [row.task == function.__name__.split(".")[0] for row in rows]
