"""Portuguese as data is written in it: states, categories and numbers."""

import pytest

from tasks.commerce.text.portuguese import StateCode, decimal, percent, readable_category, reais
from tests.cases import cases_of

CASES = cases_of(__file__)


@pytest.mark.parametrize(("code", "of", "at", "to"), CASES["a_state_has_its_article"])
def test_a_state_has_its_article(code: str, of: str, at: str, to: str) -> None:
    state = StateCode(code)
    assert (f"{state:de}", f"{state:em}", f"{state:para}", f"{state}") == (of, at, to, code)


def test_categories_read_as_portuguese() -> None:
    assert readable_category("beleza_saude") == "beleza e saúde"
    assert readable_category("livros_importados") == "livros importados"
    assert readable_category("perfumaria") == "perfumaria"


def test_numbers_are_written_as_brazilians_read_them() -> None:
    assert reais(12_345.6) == "R$ 12.346"
    assert percent(0.0825) == "8,2%"
    assert decimal(1_234.56, 2) == "1.234,56"
