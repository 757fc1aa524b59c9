"""Answers written apart from the rewards: what rewards and ground truths say of them.

Of each task and set (`benchmarks/written/texts.py`): the share of good answers that earn .85 or more of the reference
answer's reward, the share of bad ones that lose .3 or more of it, and how often a good one earns more than a bad one;
each when first scored, and today. Of the ground truth: the share of good ones that it calls good, and of bad ones bad.

Limits, on the set that no author of a reward was shown: nine in ten of the good and of the bad, today.
"""

import sys
from argparse import Namespace
from collections.abc import Sequence
from statistics import fmean
from typing import Final, NamedTuple, get_args

from benchmarks.harness import Report, run_benchmark
from benchmarks.written.texts import TextSet, WrittenAnswer, read_texts
from schemas.documents import Rollout
from schemas.tasks import TaskName
from tasks.commerce.registry import TASKS, score_rollout

PAID: Final = 0.85
KEPT: Final = 0.7
LEAST: Final = 0.9
TRUTHS: Final[dict[TaskName, str]] = {"insights": "all_kept", "push": "all_kept", "churn": "reason_true"}


class Shares(NamedTuple):
    """Shares of a set's answers, each in [0, 1]."""

    good_paid: float
    bad_unpaid: float
    in_order: float
    """Pairs of a good and a bad answer of which the good one earns more; equal ones count half."""


def measure(report: Report, _: Namespace) -> None:
    """Score every answer."""
    answers = read_texts()
    rows: list[Sequence[str | float]] = []
    for task in TRUTHS:
        for kind in get_args(TextSet):
            chosen = [answer for answer in answers if (answer.task, answer.set) == (task, kind)]
            first = _shares(chosen, [answer.first_share for answer in chosen])
            today = _shares(chosen, [_share(answer) for answer in chosen])
            true = [_is_true(answer) for answer in chosen]
            seen = (
                fmean(found for found, answer in zip(true, chosen, strict=True) if answer.good),
                fmean(not found for found, answer in zip(true, chosen, strict=True) if not answer.good),
            )
            rows.append((task, kind, len(chosen), *first, *today, *seen))
            if kind == "unseen":
                for name, share in (
                    ("good ones earn enough", today.good_paid),
                    ("bad ones lose enough", today.bad_unpaid),
                ):
                    report.limit(share >= LEAST, f"{task}: of the unseen {name} {share:.2f}, limit {LEAST:.2f}")
    report.table(
        "answers written apart from the rewards: first scored, today, and by the ground truth",
        {
            "task": "",
            "set": "",
            "n": "",
            "good": ".2f",
            "bad": ".2f",
            "order": ".2f",
            "good ": ".2f",
            "bad ": ".2f",
            "order ": ".2f",
            "true": ".2f",
            "untrue": ".2f",
        },
        rows,
        left=("set",),
    )


def _shares(answers: Sequence[WrittenAnswer], earned: Sequence[float]) -> Shares:
    good = [share for answer, share in zip(answers, earned, strict=True) if answer.good]
    bad = [share for answer, share in zip(answers, earned, strict=True) if not answer.good]
    order = fmean((one > other) + 0.5 * (one == other) for one in good for other in bad)
    return Shares(fmean(share >= PAID for share in good), fmean(share <= KEPT for share in bad), order)


def _rollout(answer: WrittenAnswer, completion: str) -> Rollout:
    return Rollout(
        prompt_id="written", task=answer.task, prompt=answer.prompt, completion=completion, reference=answer.reference
    )


def _share(answer: WrittenAnswer) -> float:
    right = score_rollout(_rollout(answer, TASKS[answer.task].answer(answer.reference)), None).reward
    return score_rollout(_rollout(answer, answer.completion), None).reward / right


def _is_true(answer: WrittenAnswer) -> bool:
    metrics = TASKS[answer.task].metric([_rollout(answer, answer.completion)], None)
    return metrics.get(TRUTHS[answer.task], 0.0) == 1.0


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure))
