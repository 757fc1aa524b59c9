"""The scoreboard is of what is shipped: weights, settings, answers and rewards."""

import pytest

from benchmarks.harness import read_result
from benchmarks.scoreboard.__main__ import identities, table_of
from benchmarks.scoreboard.runs import kept_rows, read_runs
from schemas.errors import InputError

LADDER = [
    "By task, test reward",
    "",
    " task          sft  sft again   ours             ours is better by",
    " ──────────────────────────────────────────────────────────────────",
    " insights    0.637      0.666  0.645  -.002 (-.064 +.059) than rft",
    " sentiment   0.909      0.909  0.909  +.000 (+.000 +.000) than sft",
    "",
    "By task, ground truth",
]


@pytest.mark.parametrize("profile", sorted(read_runs()))
def test_the_board_is_of_the_shipped_model_profile_and_rewards(profile: str) -> None:
    run = read_runs()[profile]
    assert len(kept_rows(profile, run)["answers"]["text"]) > 0
    result = read_result("scoreboard")
    assert result is not None
    assert identities({profile: run})[0] in result.printed, "make bench NAME=scoreboard, then make bench-docs"


@pytest.mark.parametrize("name", ["answers_sha256", "weights", "settings"])
def test_answers_of_something_else_are_refused(name: str) -> None:
    other = read_runs()["local"].model_copy(update={name: "0" * 64})
    with pytest.raises(InputError, match=rf"^{name} of the kept run of local is 0{{12}}, .*; run it anew"):
        kept_rows("local", other)


def test_a_printed_table_is_read_by_row_and_column() -> None:
    found = table_of(LADDER, "By task, test reward")
    assert list(found) == ["insights", "sentiment"]
    assert (found["insights"]["sft again"], found["sentiment"]["ours"]) == ("0.666", "0.909")
