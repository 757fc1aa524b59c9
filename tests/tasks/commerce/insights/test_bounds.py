import pytest

from tests.tasks.commerce.insights.test_reading import ENTREGAS, MONTHS, read

RIGHT = [
    ("MS e MT ficam entre 10% e 13% de atrasos.", ENTREGAS),
    ("Setembro e outubro passaram dos R$ 22 mil, e julho e agosto ficaram abaixo de R$ 19 mil.", MONTHS),
    ("PE, MS e MT atrasam 10% ou mais.", ENTREGAS),
    ("Só CE fica abaixo de 10% de atrasos.", ENTREGAS),
    ("Três dos quatro estados atrasam pelo menos 10%.", ENTREGAS),
    ("Nenhum estado passa de 22% de atrasos.", ENTREGAS),
]
WRONG = [
    ("MS e MT ficam entre 3% e 13% de atrasos.", ENTREGAS),
    ("MS e MT ficam entre 15% e 18% de atrasos.", ENTREGAS),
    ("Setembro e outubro passaram dos R$ 40 mil.", MONTHS),
    ("Julho e agosto ficaram abaixo de R$ 9 mil.", MONTHS),
    ("PE, MS e MT atrasam 40% ou mais.", ENTREGAS),
    ("Nenhum estado passa de 5% de atrasos.", ENTREGAS),
]


@pytest.mark.parametrize(("text", "place"), RIGHT)
def test_a_bound_that_holds_for_its_rows_is_right(text: str, place: int) -> None:
    assert not read(text, place).figures.false


@pytest.mark.parametrize(("text", "place"), WRONG)
def test_a_bound_that_fails_for_a_row_or_says_nothing_is_false(text: str, place: int) -> None:
    assert read(text, place).figures.false
