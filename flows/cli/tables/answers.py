"""Output of `tucano ask`: answers, how they were read, and what they are worth."""

import json
from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

import typer

from flows.runtime.console import print_table, show
from schemas.shown_text import as_shown

if TYPE_CHECKING:
    from tasks.serve.answerer import TaskAnswer


def print_answer(answer: "TaskAnswer") -> None:
    """Print a prompt on stderr, what holds of its answer on stdout, and below it what does not and why."""
    show(as_shown(answer.prompt))
    show("")
    if answer.text is not None:
        is_object = isinstance(answer.parsed, dict) and answer.text.startswith("{")
        text = json.dumps(json.loads(answer.text), ensure_ascii=False, indent=1) if is_object else answer.text
        typer.echo(as_shown(text))
        show("")
    if answer.reason is not None:
        show(f"{'nothing to show' if answer.text is None else 'not all is checked'}: {answer.reason}")
    if answer.reward is not None and answer.components is not None:
        parts = "  ".join(f"{name} {value:.2f}" for name, value in answer.components.items())
        show(f"reward {answer.reward:.3f}: {parts}")


def print_summary(model: str, name: str, answers: Sequence["TaskAnswer"]) -> None:
    """Print who answered in how long, and of several answers how many can be used and what they are worth."""
    batches = {answer.seconds for answer in answers}
    tokens = sum(answer.tokens for answer in answers)
    if len(answers) > 1:
        rewards = [answer.reward for answer in answers if answer.reward is not None]
        distinct = len({answer.completion for answer in answers})
        print_table(
            f"{len(answers)} answers",
            ("task", "shown", "checked", "distinct", "mean reward", "with a reference"),
            [
                (
                    answers[0].task,
                    f"{fmean(answer.text is not None for answer in answers):.0%}",
                    f"{fmean(answer.checked for answer in answers):.0%}",
                    str(distinct),
                    f"{fmean(rewards):.3f}" if rewards else "-",
                    str(len(rewards)),
                )
            ],
        )
    show(f"{model}, {name}: {tokens} tokens in {sum(batches):.2f} s")
