"""Rewards as counts: nothing is lost, and a mean is off by a thousandth at most."""

from datetime import date, timedelta

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.monitor.reward_counts import count_rewards

FIRST = date(2026, 11, 1)
ROWS = st.lists(
    st.tuples(st.sampled_from(["push", "churn", "sql_qa"]), st.integers(0, 4), st.floats(0, 1)), min_size=1, max_size=50
)


def table(rows: list[tuple[str, int, float]]) -> pl.DataFrame:
    columns = {"task": pl.String, "day": pl.Date, "reward": pl.Float64}
    return pl.DataFrame(
        [(task, FIRST + timedelta(day), reward) for task, day, reward in rows], schema=columns, orient="row"
    )


@settings(deadline=None, max_examples=40)
@given(ROWS)
def test_every_answer_is_counted_once_and_no_reward_is_taken_for_a_lower_one(
    rows: list[tuple[str, int, float]],
) -> None:
    scored = table(rows)
    counted = count_rewards(scored, ("push", "churn", "sql_qa"))
    for number, task in enumerate(counted.tasks):
        for place, day in enumerate(counted.days):
            rewards = scored.filter(task=task, day=day)["reward"]
            assert counted.answers[number, place] == len(rewards)
            over = counted.total[number, place] - rewards.sum()
            assert -1e-5 * len(rewards) <= over <= 0.001 * len(rewards)
    assert counted.answers.sum() == len(rows)


@settings(deadline=None, max_examples=40)
@given(ROWS)
def test_of_one_task_only_the_days_remain_on_which_it_answered(rows: list[tuple[str, int, float]]) -> None:
    scored = table([*rows, ("push", 2, 0.5)])
    push = count_rewards(scored, ("churn", "push")).of([1])
    assert push.tasks == ("push",)
    assert list(push.days) == sorted(set(scored.filter(task="push")["day"]))
    assert (push.answers > 0).all()


def test_rewards_of_whole_thousandths_are_counted_as_they_are() -> None:
    counted = count_rewards(table([("push", 0, 0.55), ("push", 0, 0.3), ("push", 0, 0.1 + 0.2)]), ("push",))
    assert counted.rewards.tolist() == [0.3, 0.55]
    assert counted.counts[0, 0].tolist() == [2, 1]
