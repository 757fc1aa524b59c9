"""Answers side by side: prompts chosen by a rule that leaves nobody a choice, and by lot."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.documents import ScoredRollout
from schemas.tasks import TASK_NAMES, TaskName
from tasks.evaluate.compare import PromptScores
from tasks.evaluate.report.background import SHOWN, choose_prompts, reference_text, side_by_side
from tests.cases import cases_of
from tests.tasks.curate.prompt_rows import prompt_row

CASES = cases_of(__file__)


def prompts(differences: Sequence[float], tasks: Sequence[TaskName] = TASK_NAMES) -> list[PromptScores]:
    """Return as many prompts of each task, with these differences in turn."""
    return [
        PromptScores(task, f"{task}-{number:02}", 0.5, 0.5 + difference)
        for task in tasks
        for number, difference in enumerate(differences)
    ]


def by_rule(given_prompts: Sequence[PromptScores]) -> list[tuple[str, PromptScores]]:
    return [(reason, each) for reason, each in choose_prompts(given_prompts, 7) if reason != "random"]


def test_six_tasks_give_six_gains_two_losses_and_two_medians_of_different_tasks() -> None:
    chosen = by_rule(prompts([-0.3, 0.0, 0.1, 0.4]))
    assert [reason for reason, _ in chosen] == ["gain"] * 6 + ["loss"] * 2 + ["median"] * 2
    assert [each.difference for reason, each in chosen if reason == "gain"] == [0.4] * 6
    assert [each.difference for reason, each in chosen if reason == "loss"] == [-0.3] * 2
    assert [each.difference for reason, each in chosen if reason == "median"] == [0.0] * 2
    for reason in ("loss", "median"):
        assert len({each.task for why, each in chosen if why == reason}) == 2


@given(st.lists(st.sampled_from([-0.5, 0.0, 0.25]), max_size=6), st.sets(st.sampled_from(TASK_NAMES)))
def test_no_prompt_is_shown_twice(differences: list[float], tasks: set[TaskName]) -> None:
    given_prompts = prompts(differences, sorted(tasks))
    drawn = choose_prompts(given_prompts, 7)
    chosen = [(each.task, each.prompt_id) for _, each in drawn]
    assert len(set(chosen)) == len(chosen)
    assert sum(reason != "random" for reason, _ in drawn) == min(SHOWN, len(given_prompts))


def test_one_prompt_of_each_task_is_drawn_by_the_seed_and_stands_first() -> None:
    given_prompts = prompts([place / 100 for place in range(40)])
    drawn = [[each for why, each in choose_prompts(given_prompts, seed)[:6] if why == "random"] for seed in (7, 7, 8)]
    assert [each.task for each in drawn[0]] == list(TASK_NAMES)
    assert drawn[0] == drawn[1] != drawn[2]


def test_the_first_sample_is_shown() -> None:
    row = prompt_row("push", "mala")
    samples = [
        ScoredRollout.model_construct(**row.answered(text).model_dump(), reward=0.5, components={})
        for text in ("primeira", "segunda")
    ]
    (shown,) = side_by_side([PromptScores("push", row.prompt_id, 0.5, 0.5)], {"base": samples}, 7)
    assert shown.answers["base"].completion == "primeira"


@pytest.mark.parametrize(("reference", "text"), CASES["the_right_answer_is_what_the_reference_knows"])
def test_the_right_answer_is_what_the_reference_knows(reference: dict[str, object] | None, text: str) -> None:
    assert reference_text(reference) == text
