"""Lessons of the stand-in: each once, right at first and imperfect at the end, of stores that no profile can name."""

from tasks.commerce.registry import TASKS
from tasks.stand_in.lessons import Recipe, lessons

SMALL = Recipe(steps=24, demonstrated_steps=6, batch_size=8, orders=120, prompts=dict.fromkeys(TASKS, 12))


def test_answers_have_faults_at_the_end_alone() -> None:
    as_it_is = list(lessons(SMALL))
    right = list(lessons(SMALL.model_copy(update={"steps": 30, "demonstrated_steps": 0})))
    differ = [lesson.answer != other.answer for lesson, other in zip(as_it_is, right, strict=True)]
    first = SMALL.steps * SMALL.batch_size
    assert not any(differ[:first])
    assert 0.3 < sum(differ[first:]) / len(differ[first:]) < 0.9
