"""Output of `tucano show`: a prompt with all answers, or a step's rollouts by task."""

import json
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from statistics import fmean
from typing import Any, Final

from flows.runtime.console import COLUMNS, columns, print_table, show
from schemas.shown_text import as_shown
from tasks.lineage.graph.completions import PromptHistory, ShownAnswer, ShownRollout

LISTED: Final = 3
"""Best and worst rollouts that are printed; of the worst alone, three times as many."""
LONGEST_TEXT: Final = 1_200
LONGEST_CELL: Final = 200
INDENT: Final = "  "


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
        _print_reference(history.reference)
    if not worst:
        _print_answers(history.answers)
    if history.rollouts:
        _print_steps(history.rollouts)
        by_reward = sorted(history.rollouts, key=lambda each: each.reward)
        _print_extremes(by_reward, worst=worst, of_one_prompt=True)
    elif not history.answers:
        show("no model answered it, and no rollouts of it were sampled")


def _print_reference(reference: Mapping[str, Any]) -> None:
    """Print each field on a line of its own, those of a field's own object too."""
    show("reference:")
    for name, value in reference.items():
        fields = (
            {f"{name}.{inner}": each for inner, each in value.items()} if isinstance(value, dict) else {name: value}
        )
        for field, each in fields.items():
            _print_text(f"{field}: {each if isinstance(each, str) else json.dumps(each, ensure_ascii=False)}")


def _print_answers(answers: Iterable[ShownAnswer]) -> None:
    """Print a block for each model, each distinct answer once; models that answered the same share one."""
    by_model: dict[str, list[ShownAnswer]] = {}
    for answer in answers:
        by_model.setdefault(answer.model, []).append(answer)
    by_texts: dict[tuple[str, ...], list[str]] = {}
    for model, given in by_model.items():
        by_texts.setdefault(tuple(sorted(answer.completion for answer in given)), []).append(model)
    for texts, models in by_texts.items():
        show("")
        given = [answer for model in models for answer in by_model[model]]
        if len(set(texts)) == 1:
            times = f" ×{len(texts)}" if len(texts) > 1 else ""
            show(f"{', '.join(models)}{times}{_worth(given)}")
            _print_text(texts[0])
            continue
        show(f"{', '.join(models)}: {len(texts)} answers, {len(set(texts))} distinct")
        for text, count in Counter(texts).most_common():
            show(f" ×{count}{_worth([answer for answer in given if answer.completion == text])}")
            _print_text(text)


def _worth(given: Sequence[ShownAnswer]) -> str:
    """Return reward and ground truth of equal answers, of which not all need be scored."""
    scored = next((each for each in given if each.reward is not None), given[0])
    reward = "" if scored.reward is None else f": reward {scored.reward:.3f}"
    return reward + ("" if scored.truth is None else f", ground truth {scored.truth:.3f}")


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


def _print_extremes(by_reward: Sequence[ShownRollout], *, worst: bool, of_one_prompt: bool = False) -> None:
    """Print distinct rollouts, equal ones once."""
    groups: dict[tuple[str, int, str, float], list[ShownRollout]] = {}
    for each in by_reward:
        groups.setdefault((each.prompt_id, each.step, each.completion, each.reward), []).append(each)
    distinct = list(groups.values())
    if worst:
        _print_rollouts("Worst", distinct[: 3 * LISTED], of_one_prompt=of_one_prompt)
    elif len(distinct) <= 2 * LISTED:
        _print_rollouts("All, worst first", distinct, of_one_prompt=of_one_prompt)
    else:
        _print_rollouts("Worst", distinct[:LISTED], of_one_prompt=of_one_prompt)
        _print_rollouts("Best", distinct[::-1][:LISTED], of_one_prompt=of_one_prompt)


def _print_rollouts(title: str, groups: Sequence[Sequence[ShownRollout]], *, of_one_prompt: bool) -> None:
    named = () if of_one_prompt else ("task", "prompt")
    header = ("reward", "times", "advantage", "step", *named, "completion")
    rows = [
        (
            f"{each.reward:.3f}",
            f"×{len(group)}",
            "-" if each.advantage is None else f"{each.advantage:+.2f}",
            str(each.step),
            *(() if of_one_prompt else (each.task, each.prompt_id[:8])),
            _cell(each),
        )
        for group in groups
        for each in group[:1]
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
        # A JSON object without blanks is one word.
        for part in textwrap.wrap(line, min(columns(), COLUMNS) - len(INDENT), break_on_hyphens=False) or [""]:
            show(f"{INDENT}{part}")
    if len(shown) > LONGEST_TEXT:
        show(f"  … and {len(shown) - LONGEST_TEXT} more characters")
