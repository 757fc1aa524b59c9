"""Prompts of the audit's own rollouts: drawn by a seed, and of which something is known where a task has such."""

from tasks.audit.rollouts import draw_prompts
from tests.tasks.curate.prompt_rows import prompt_row

NOTHING = {"product": None, "offer": None}


def test_prompts_are_drawn_by_the_seed_as_many_as_there_are() -> None:
    rows = [prompt_row("push", f"Anuncie {number}") for number in range(9)]
    assert draw_prompts(rows, 4, 1) == draw_prompts(rows, 4, 1) != draw_prompts(rows, 4, 2)
    assert len(draw_prompts(rows, 20, 1)) == 9


def test_prompts_of_which_nothing_is_known_are_drawn_only_where_there_are_no_others() -> None:
    untold = [prompt_row("push", f"Anuncie {number}", NOTHING) for number in range(5)]
    told = prompt_row("push", "Anuncie o tênis")
    assert draw_prompts([*untold, told], 4, 1) == [told]
    assert len(draw_prompts(untold, 4, 1)) == 4
