"""A value is removed where fewer than four of its signs in a row are left at its own place."""

import pytest
from benchmarks.personal_data.removal import is_removed, removed_places
from hypothesis import given
from hypothesis import strategies as st

from tasks.personal_data.scrub import KINDS

WORDS = st.text(alphabet="ab c,.\n19", max_size=12)
VALUES = st.text(alphabet="xyz678", min_size=1, max_size=14)


@given(WORDS, VALUES, WORDS, st.sampled_from(KINDS))
def test_a_replaced_value_is_removed_and_an_untouched_one_is_not(
    before: str, value: str, after: str, kind: str
) -> None:
    text = before + value + after
    assert is_removed(text, value, f"{before}[{kind}]{after}")
    assert not is_removed(text, value, text)


@pytest.mark.parametrize(
    ("scrubbed", "removed"),
    [
        ("cpf [CPF] ok", True),
        ("cpf [CPF].789-09 ok", False),
        ("cpf [CPF]89-09 ok", False),
        ("cpf [CPF]9-09 ok", True),
        ("cpf 123.[CPF]09 ok", True),
        ("cpf 123.456[CPF] ok", False),
        ("[CPF] ok", True),
        ("cpf 123.456.789-09 [CPF]", False),
    ],
)
def test_four_signs_in_a_row_are_readable_whatever_separates_them(scrubbed: str, removed: bool) -> None:
    assert is_removed("cpf 123.456.789-09 ok", "123.456.789-09", scrubbed) is removed


def test_a_short_value_is_readable_as_a_whole() -> None:
    assert not is_removed("cvv 123 do cartao 99", "123", "cvv 123 do cartao [CARTAO]")
    assert is_removed("cvv 123 do cartao 99", "123", "cvv [CARTAO] do cartao 99")


def test_only_its_own_place_counts() -> None:
    text = "fixo 3456-7890, nota 34567890123"
    assert is_removed(text, "3456-7890", "fixo [TELEFONE], nota 34567890123")
    assert not is_removed(text, "3456-7890", "fixo 3456-7890, nota [CPF]")


def test_values_beside_each_other_have_places_of_their_own() -> None:
    text = "11987654321 joao@uol.com.br fim"
    assert not is_removed(text, "joao@uol.com.br", "[TELEFONE] joao@uol.com.br fim")
    assert is_removed(text, "11987654321", "[TELEFONE] joao@uol.com.br fim")
    assert is_removed(text, "joao@uol.com.br", "[TELEFONE] [EMAIL] fim")


def test_a_text_that_was_rewritten_removes_nothing() -> None:
    assert removed_places("meu cpf é 1234567", "meu cpf e [CPF]") is None
    assert not is_removed("meu cpf é 1234567", "1234567", "meu cpf e [CPF]")
    assert removed_places("Cpf 1", "Cpf 1") == frozenset()
