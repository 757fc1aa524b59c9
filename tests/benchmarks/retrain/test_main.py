"""What an evaluation must show, on made-up reports."""

from typing import Any

import pytest

from benchmarks.retrain.__main__ import misses

BETTER = ("sql_qa", "push", "churn")


def _blocks(p: float = 0.001, better: tuple[str, ...] = BETTER, worse: tuple[str, ...] = ()) -> dict[str, Any]:
    tasks = ("extraction", "sql_qa", "insights", "push", "sentiment", "churn")
    verdicts = {task: "better" if task in better else "worse" if task in worse else "inconclusive" for task in tasks}
    tasks_blocks = {task: {"verdict": verdict} for task, verdict in verdicts.items()}
    return {"overall": {"p_signflip": p, "verdict": "better"}, "tasks": tasks_blocks}


def _report(scores: dict[str, Any], truth: dict[str, Any]) -> dict[str, Any]:
    return {**scores, "ground_truth": truth}


@pytest.mark.parametrize(
    ("changed", "miss"),
    [
        ({"p": 0.01}, "overall: p 0.0100, limit 0.01"),
        ({"better": ("sql_qa", "push")}, "better on sql_qa, push; wanted 3, sql_qa or insights among them"),
        ({"better": ("push", "sentiment", "churn")}, "better on push, sentiment, churn; wanted 3"),
        ({"better": ()}, "better on no task"),
        ({"worse": ("extraction",)}, "worse on extraction"),
    ],
)
def test_a_gain_that_is_not_shown_is_named_for_scores_and_for_truth(changed: dict[str, Any], miss: str) -> None:
    for report, what in (
        (_report(_blocks(**changed), _blocks()), "scores"),
        (_report(_blocks(), _blocks(**changed)), "ground truth"),
    ):
        (found,) = misses(report)
        assert found.startswith(what)
        assert miss in found
