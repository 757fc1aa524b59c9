"""What an evaluation must show, on made-up reports."""

from typing import Any

import pytest

from benchmarks.retrain.__main__ import misses
from schemas.tasks import TASK_NAMES


def _blocks(p: float = 0.001, **tasks: tuple[str, ...]) -> dict[str, Any]:
    verdicts = dict.fromkeys(TASK_NAMES, "inconclusive")
    for verdict, names in {"better": ("sql_qa", "push", "churn"), **tasks}.items():
        verdicts |= {name: verdict for name in TASK_NAMES if name in names}
    blocks = {name: {"verdict": verdict} for name, verdict in verdicts.items()}
    return {"overall": {"p_signflip": p, "verdict": "better"}, "tasks": blocks}


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
    for scores, truth, what in ((changed, {}, "scores"), ({}, changed, "ground truth")):
        (found,) = misses({**_blocks(**scores), "ground_truth": _blocks(**truth)})
        assert found.startswith(what)
        assert miss in found
