import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.evaluate.general.instructions import GeneralInstruction, instructions
from tasks.evaluate.retention import MIN_FOLLOWED_SHARE

ALL = instructions()
by_id = pytest.mark.parametrize("instruction", ALL, ids=[each.id for each in ALL])


@by_id
def test_its_right_answer_follows_it_and_its_wrong_one_does_not(instruction: GeneralInstruction) -> None:
    assert instruction.followed(instruction.right)
    assert instruction.followed(f"{instruction.right}\n")
    assert not instruction.followed(instruction.wrong)


@by_id
def test_nothing_and_its_own_echo_do_not_follow_it(instruction: GeneralInstruction) -> None:
    assert not instruction.followed("")
    assert not instruction.followed(" \n")
    assert not instruction.followed(instruction.prompt)
    assert not instruction.followed(f"{instruction.prompt}\n{instruction.right}")


def test_no_one_answer_follows_as_many_as_a_base_must_to_be_measured() -> None:
    answers = [*(each.right for each in ALL), "sim", "não", "ok", "- a\n- b", "a, b, c", "{}", "|", "A casa é azul."]
    most = max(sum(each.followed(answer) for each in ALL) for answer in answers)
    assert most / len(ALL) < MIN_FOLLOWED_SHARE


@given(st.text(max_size=60))
def test_no_answer_stops_a_check(answer: str) -> None:
    for each in ALL:
        assert each.followed(answer) in (True, False)
