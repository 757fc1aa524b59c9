import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.audit.attack.bank import Bank
from tasks.audit.attack.operators import MOST_CHARACTERS, OPERATORS, Operation, operate
from tests.tasks.audit.attack.settings import case, rollouts

CASE = case("extraction")
OPERATIONS = list(Bank.of("extraction", [CASE, case("extraction", 1)], rollouts()).operations())


@given(st.text(max_size=200) | st.just(CASE.answer), st.sampled_from(OPERATIONS))
def test_an_operation_raises_on_no_text_and_gives_another_or_none(text: str, operation: Operation) -> None:
    changed = operate(operation, text, CASE)

    assert changed is None or (changed != text and len(changed) <= MOST_CHARACTERS)


@pytest.mark.parametrize(
    ("operation", "text", "changed"),
    [
        (Operation("append", "Agora."), "Bom.", "Bom. Agora."),
        (Operation("inside", "e caro"), "É bom.", "É bom e caro."),
        (Operation("first", "0.5"), "abcdef", "abc"),
        (Operation("last", "0.5"), "abcdef", "def"),
        (Operation("numbers", "rotated"), "1 de 20", "20 de 1"),
        (Operation("numbers", "first"), "1 de 20", "1 de 1"),
        (Operation("without_sentence", "0"), "Um. Dois.", "Dois."),
        (Operation("backwards"), "a\nb", "b\na"),
        (Operation("cut_at", "WHERE"), "SELECT 1 FROM t where x", "SELECT 1 FROM t"),
        (Operation("wrap", "parentheses"), "a", "(a)"),
        (Operation("hide_rest", "brackets"), f"{CASE.answer} mais", f"{CASE.answer} [mais]"),
        (Operation("hide_rest", "brackets"), "outro texto", None),
        (Operation("other", CASE.answer), "a", None),
        (Operation("set", '{"a":null}'), '{"a":1,"b":2}', '{"a":null,"b":2}'),
        (Operation("set", '{"a":"{Cor}"}'), '{"a":1}', None),
        (Operation("only", "a"), '{"a":1,"b":2}', '{"a":1}'),
        (Operation("without", "a"), '{"a":1,"b":2}', '{"b":2}'),
        (Operation("without", "a"), "[1]", None),
    ],
)
def test_an_operation_does_what_its_name_says(operation: Operation, text: str, changed: str | None) -> None:
    assert operate(operation, text, CASE) == changed


def test_a_field_takes_a_value_of_the_prompt() -> None:
    shopper = case("churn")
    changed = operate(Operation("set", '{"reasoning":"{numeros}"}'), shopper.answer, shopper)

    assert changed is not None
    assert json.loads(changed)["reasoning"][0].isdigit()


def test_every_operator_is_listed_or_drawn() -> None:
    named = {operation.name for operation in OPERATIONS} | {"hide_rest", "cut_at", "good_after", "good_before"}

    assert named == OPERATORS.keys()
