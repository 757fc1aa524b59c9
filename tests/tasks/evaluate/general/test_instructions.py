import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.evaluate.general.instructions import CHECKS, instructions
from tasks.evaluate.retention import MIN_FOLLOWED_SHARE
from tests.cases import cases_of

CASES = cases_of(__file__)

ALL = instructions()


def test_right_answers_follow_and_wrong_ones_nothing_and_an_echo_do_not() -> None:
    for each in ALL:
        for answer in (each.right, f"{each.right}\n"):
            assert each.followed(answer), each.id
        for answer in (each.wrong, "", " \n", each.prompt, f"{each.prompt}\n{each.right}"):
            assert not each.followed(answer), each.id


def test_no_one_answer_follows_as_many_as_a_base_must_to_be_measured() -> None:
    answers = [*(each.right for each in ALL), "sim", "não", "ok", "- a\n- b", "a, b, c", "{}", "|", "A casa é azul."]
    most = max(sum(each.followed(answer) for each in ALL) for answer in answers)
    assert most / len(ALL) < MIN_FOLLOWED_SHARE


@given(st.text(max_size=60))
def test_no_answer_stops_a_check(answer: str) -> None:
    for each in ALL:
        assert each.followed(answer) in (True, False)


@pytest.mark.parametrize(("check", "parameters", "right", "wrong"), CASES["a_check"])
def test_a_check(check: str, parameters: dict[str, object], right: str, wrong: str) -> None:
    assert CHECKS[check](right, **parameters)
    assert not CHECKS[check](wrong, **parameters)
