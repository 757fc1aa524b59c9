"""The curriculum on completion length."""

import pytest

from tasks.train.grpo.curriculum import completion_limit

STAGES = [(100, 128), (300, 256)]


@pytest.mark.parametrize(
    ("step", "tokens"),
    [(0, 128), (99, 128), (100, 256), (299, 256), (300, 512), (5000, 512)],
)
def test_a_stage_ends_at_its_step(step: int, tokens: int) -> None:
    assert completion_limit(step, STAGES, 512) == tokens


def test_without_stages_the_limit_is_the_most() -> None:
    assert completion_limit(0, [], 512) == 512


def test_no_stage_allows_more_than_the_most() -> None:
    assert completion_limit(150, STAGES, 200) == 200
