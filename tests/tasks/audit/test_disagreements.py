"""Which completions a person reads first: those that reward and score put furthest apart."""

import pytest

from schemas.documents import Rollout, ScoredRollout
from schemas.tasks import TaskName
from tasks.audit.report import Disagreement, worst_disagreements
from tasks.audit.sheet import ScoredCompletion, ScoredItem


def judged(name: str, score: int, reward: float, task: TaskName = "push") -> ScoredCompletion:
    rollout = Rollout(prompt_id="p", task=task, prompt="pergunta", completion=name)
    scored = ScoredRollout(
        **rollout.model_dump(), reward=reward, components={}, parsed=None, spec="grounded", reward_version="v1"
    )
    return ScoredCompletion(ScoredItem(name, "random", rollout, {"ana": score}, ()), scored)


def names(found: tuple[Disagreement, ...]) -> list[str]:
    return [case.judged.item.audit_id for case in found]


ROWS = [judged("a", 1, 0.9), judged("b", 2, 0.1), judged("c", 3, 0.2), judged("d", 4, 0.3), judged("e", 5, 0.95)]


def test_furthest_apart_comes_first() -> None:
    """By their places: a is three too high, b, c and d one too low."""
    assert names(worst_disagreements(ROWS, 20)) == ["a", "b", "c", "d"]


def test_rounding_errors_are_no_disagreement() -> None:
    assert worst_disagreements([judged("a", 3, 0.3), judged("b", 3, 0.1 + 0.2)], 20) == ()


def test_completions_are_put_in_order_within_their_task() -> None:
    """Places count as a share of the task's completions, so that a small task's worst is not drowned by a large one."""
    small = [judged(f"churn {n}", n + 1, [0.9, 0.2, 0.3, 0.4, 0.5][n], "churn") for n in range(5)]
    large = [judged(f"push {n}", n // 10 + 1, n / 40) for n in range(39)] + [judged("push 39", 5, 0.01)]
    found = worst_disagreements([*large, *small], 3)
    assert [(case.judged.item.audit_id, case.places, case.of) for case in found[:2]] == [
        ("push 39", -38.0, 40),
        ("churn 0", 4.0, 5),
    ]
    assert found[0].share == pytest.approx(38 / 40)
