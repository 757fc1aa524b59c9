"""Output of `tucano show`: a prompt with all answers, or a step's rollouts by task."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from statistics import fmean
from typing import Final

from flows.runtime.console import print_table, show
from schemas.shown_text import as_shown
from tasks.lineage.graph.completions import PromptHistory, ShownAnswer, ShownRollout

LISTED: Final = 3
"""Best and worst rollouts that are printed; of the worst alone, three times as many."""
LONGEST_TEXT: Final = 1_200
LONGEST_CELL: Final = 200


def print_step(step: int, rollouts: Sequence[ShownRollout], *, worst: bool) -> None:
    """Print a step's rollouts by task, its worst, and its best unless only the worst are asked for."""
    by_reward = sorted(rollouts, key=lambda each: each.reward)
    tasks = dict.fromkeys(each.task for each in rollouts)
    of_tasks = [(task, [each for each in by_reward if each.task == task]) for task in tasks]
    print_table(
        f"Step {step}: {len(rollouts)} rollouts",
        ("task", "rollouts", "prompts", "distinct", "trained on", "mean reward", "worst", "best"),
        [
            (
                task,
                str(len(found)),
                str(len({each.prompt_id for each in found})),
                str(len({each.completion for each in found})),
                str(sum(each.advantage is not None for each in found)),
                f"{fmean(each.reward for each in found):.3f}",
                f"{found[0].reward:.3f}",
                f"{found[-1].reward:.3f}",
            )
            for task, found in of_tasks
        ],
    )
    _print_extremes(by_reward, worst=worst)
    show("next: `tucano show PROMPT` with an id of these, or open the completions of the evaluation's report")


def print_prompt(history: PromptHistory, *, worst: bool) -> None:
    """Print a prompt, its reference, each model's answer, and its rollouts over time."""
    show(f"{history.task} prompt {history.prompt_id}, of the {history.split} split")
    show("")
    _print_text(history.prompt)
    if history.reference is not None:
        show(f"reference: {as_shown(json.dumps(history.reference, ensure_ascii=False))}")
    if not worst:
        _print_answers(history.answers)
    if history.rollouts:
        _print_steps(history.rollouts)
        _print_extremes(sorted(history.rollouts, key=lambda each: each.reward), worst=worst)
    elif not history.answers:
        show("no model answered it, and no rollouts of it were sampled")


def _print_answers(answers: Iterable[ShownAnswer]) -> None:
    """Print each distinct answer once, with the models that gave it."""
    by_text: dict[str, list[ShownAnswer]] = {}
    for answer in answers:
        by_text.setdefault(answer.completion, []).append(answer)
    for text, given in by_text.items():
        models = ", ".join(f"{model} ×{n}" if n > 1 else model for model, n in _counted(given).items())
        scored = next((each for each in given if each.reward is not None), given[0])
        reward = "" if scored.reward is None else f": reward {scored.reward:.3f}"
        truth = "" if scored.truth is None else f", ground truth {scored.truth:.3f}"
        show("")
        show(f"{models}{reward}{truth}")
        _print_text(text)


def _counted(given: Iterable[ShownAnswer]) -> Mapping[str, int]:
    counts: dict[str, int] = {}
    for answer in given:
        counts[answer.model] = counts.get(answer.model, 0) + 1
    return counts


def _print_steps(rollouts: Sequence[ShownRollout]) -> None:
    ordered = sorted(rollouts, key=lambda each: (each.seed, each.step))
    rows = []
    for (seed, step), group in groupby(ordered, key=lambda each: (each.seed, each.step)):
        found = list(group)
        names = found[0].components
        parts = "  ".join(f"{name} {fmean(each.components.get(name, 0.0) for each in found):.2f}" for name in names)
        rows.append(
            (
                str(step),
                str(seed),
                str(len(found)),
                str(len({each.completion for each in found})),
                f"{fmean(each.reward for each in found):.3f}",
                parts,
            )
        )
    header = ("step", "seed", "rollouts", "distinct", "mean reward", "mean components")
    print_table("Rollouts over time", header, rows, texts=("mean components",))


def _print_extremes(by_reward: Sequence[ShownRollout], *, worst: bool) -> None:
    if worst:
        _print_rollouts("Worst", by_reward[: 3 * LISTED])
    elif len(by_reward) <= 2 * LISTED:
        _print_rollouts("All, worst first", by_reward)
    else:
        _print_rollouts("Worst", by_reward[:LISTED])
        _print_rollouts("Best", by_reward[::-1][:LISTED])


def _print_rollouts(title: str, rollouts: Sequence[ShownRollout]) -> None:
    header = ("reward", "advantage", "task", "step", "prompt", "completion")
    rows = [
        (
            f"{each.reward:.3f}",
            "-" if each.advantage is None else f"{each.advantage:+.2f}",
            each.task,
            str(each.step),
            each.prompt_id[:8],
            _cell(each),
        )
        for each in rollouts
    ]
    print_table(title, header, rows, texts=("task", "prompt", "completion"), lines=True)


def _cell(rollout: ShownRollout) -> str:
    text = as_shown(" ".join(rollout.completion.split()))
    marks = "".join(
        f" ({mark})"
        for mark, holds in (
            ("cut off at the token limit", rollout.stop_reason == "token_limit"),
            ("the reference's answer", rollout.corrected),
        )
        if holds
    )
    return (text if len(text) <= LONGEST_CELL else f"{text[:LONGEST_CELL]}…") + marks


def _print_text(text: str) -> None:
    """Print a text, indented, so that no line of it passes for one of ours."""
    shown = as_shown(text)
    for line in shown[:LONGEST_TEXT].split("\n"):
        show(f"  {line}")
    if len(shown) > LONGEST_TEXT:
        show(f"  … and {len(shown) - LONGEST_TEXT} more characters")
