"""A count is split exactly, and each part is within one of its share."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import InputError
from schemas.tasks import TASK_NAMES
from tasks.synthesize.stage import read_mix, split_count
from tests.cases import cases_of

CASES = cases_of(__file__)


@given(
    st.integers(0, 10**9),
    st.dictionaries(st.sampled_from(TASK_NAMES), st.integers(0, 1000).map(Fraction), min_size=1).filter(
        lambda weights: any(weights.values())
    ),
)
def test_the_parts_sum_up_and_are_within_one_of_their_share(count: int, weights: dict[str, Fraction]) -> None:
    parts = split_count(count, weights)  # type: ignore[arg-type]
    assert sum(parts.values()) == count
    for task, part in parts.items():
        assert abs(part - count * weights[task] / sum(weights.values())) < 1
        assert part == 0 or weights[task] > 0


@pytest.mark.parametrize(("text", "words"), CASES["a_text_that_is_no_mix_is_refused"])
def test_a_text_that_is_no_mix_is_refused(text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read_mix(text)
    assert words in str(caught.value)
