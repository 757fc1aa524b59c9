from tasks.commerce.insights.quotations import know, read_quotations, tokens_of
from tasks.commerce.text.text_form import fold


def grades(text: str, *facts: str | float) -> list[float]:
    return read_quotations(tokens_of(fold(text)), know(facts)).grades


def test_a_number_belongs_to_the_row_before_it_or_joined_after_it() -> None:
    facts = ("SP: 10 pedidos", "BA: 20 pedidos")
    assert grades("SP tem 10 pedidos, BA tem 20 pedidos", *facts) == [1.0, 1.0]
    assert grades("São 10 pedidos em SP e 20 pedidos em BA", *facts) == [1.0, 1.0]
    assert grades("SP tem 20 pedidos e BA tem 10 pedidos", *facts) == [0.0, 0.0]


def test_rows_are_recognized_by_the_words_of_their_own() -> None:
    facts = ("livros técnicos: 7 pedidos", "livros de interesse geral: 9 pedidos")
    assert grades("Livros de interesse geral: 9 pedidos. Livros técnicos: 7 pedidos.", *facts) == [1.0, 1.0]
    assert grades("São 9 pedidos em livros de interesse geral.", *facts) == [0.0, 1.0]
    assert grades("ferramentas: 5 pedidos", "ferramentas: 5 pedidos", "ferramentas de jardim: 6 pedidos") == [1.0, 0.0]


def test_a_number_without_its_words_counts_less() -> None:
    assert 0 < grades("SP: 10.", "SP: 10 pedidos")[0] < 0.5


def test_false_numbers_are_distinguished_from_unknown_ones() -> None:
    read = read_quotations(tokens_of("sp: 20 pedidos e 33 dias"), know(("SP: 10 pedidos", "BA: 20 pedidos")))
    assert (read.wrong, read.unknown) == ({20.0}, {33.0})


def test_facts_without_numbers_are_recognized_by_their_words() -> None:
    assert grades("A entrega em Goiás atrasou muito.", "Goiás: entrega atrasou") == [1.0]
    assert grades("Tudo bem.", "Goiás: entrega atrasou") == [0.0]
