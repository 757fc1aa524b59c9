"""A shop's files are recognised by names and cells, and what is not sure waits for a person."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tasks.synthesize.columns.recognize import Recognized, recognize
from tests.cases import cases_of
from tests.tasks.synthesize.columns.shop import FLAT, ITEMS, ORDERS, REVIEWS, looked

CASES = cases_of(__file__)

OWN = "a person's own, and left out"
PERSONAL = {"Nome do cliente", "CPF", "E-mail", "Telefone", "Endereço", "CEP"}


def mapped(recognized: Recognized, name: str) -> dict[str, str]:
    (section,) = [section for section in recognized.sections if section.name == name]
    return {choice.ours: choice.theirs for choice in section.choices if choice.sure}


def unsure(recognized: Recognized) -> dict[str, str]:
    return {c.ours: c.why for section in recognized.sections for c in section.choices if not c.sure}


def test_files_of_tables_are_recognised_and_joined() -> None:
    customers = {"Código do Cliente": ["7", "8", "9"], "UF": ["SP", "RJ", "SP"], "CPF": FLAT["CPF"]}
    found = recognize([looked(cells) for cells in (ORDERS, ITEMS, REVIEWS, customers)])
    assert [section.name for section in found.sections] == ["orders", "items", "reviews", "customers"]
    assert mapped(found, "orders") == {
        "order_id": "Nº do Pedido",
        "customer_id": "Código do Cliente",
        "order_status": "Situação",
        "order_purchase_timestamp": "Data da Compra",
    }
    assert mapped(found, "items")["price"] == "Preço Unitário"
    assert mapped(found, "reviews")["review_comment_message"] == "Comentário"
    assert mapped(found, "customers")["customer_unique_id"] == "CPF"
    assert unsure(found) == {}


def test_personal_columns_are_never_mapped_but_as_an_identity() -> None:
    found = recognize([looked(FLAT), looked({**REVIEWS, "contato": FLAT["E-mail"]})])
    for section in found.sections:
        for choice in section.choices:
            assert choice.theirs not in PERSONAL or choice.ours in {"customer_id", "customer_unique_id"}
    assert set(found.left_out(found.files[0])[OWN]) == PERSONAL - {"CPF"}
    # By its cells, though its name says nothing.
    assert found.left_out(found.files[1])[OWN] == ("contato",)


def test_a_name_that_could_be_two_columns_goes_where_its_cells_fit() -> None:
    cells = {"Nº do Pedido": ORDERS["Nº do Pedido"], "Avaliação": ["5", "4", "1"], "Texto": REVIEWS["Comentário"]}
    reviews = mapped(recognize([looked(ORDERS), looked(cells)]), "reviews")
    # As the id of a review, its stars would make all reviews of three stars one, and one person's.
    assert reviews["review_score"] == "Avaliação" and "review_id" not in reviews
    texts = {"Nº do Pedido": ORDERS["Nº do Pedido"], "Avaliação": REVIEWS["Comentário"], "Pontuação": ["5", "4", "1"]}
    reviews = mapped(recognize([looked(ORDERS), looked(texts)]), "reviews")
    assert (reviews["review_score"], reviews["review_comment_message"]) == ("Pontuação", "Avaliação")


def test_names_of_people_are_no_ids_of_customers() -> None:
    cells = {**ORDERS, "Código do Cliente": ["Ana Souza", "Bia Lima", "Rui Sá"]}
    found = recognize([looked(cells)])
    assert unsure(found) == {"customer_unique_id": "by its name, but its cells are not ids"}
    found = recognize([looked({**cells, "CPF": FLAT["CPF"]})])
    assert unsure(found) == {}
    assert mapped(found, "customers")["customer_unique_id"] == "CPF"


def test_a_file_named_after_a_table_may_call_its_columns_by_short_names() -> None:
    payments = {"pedido": ORDERS["Nº do Pedido"], "forma": ["boleto", "pix", "pix"], "valor": ["10,00", "5,50", "7,25"]}
    customers = {"conta": ["71", "72", "73"], "cliente": ["a1", "b2", "b2"], "uf": ["SP", "RJ", "SP"]}
    orders = {**ORDERS, "conta": customers["conta"]}
    del orders["Código do Cliente"]
    named: dict[str, Mapping[str, Sequence[str | None]]] = {
        "pedidos.csv": orders,
        "pagamentos.csv": payments,
        "clientes.csv": customers,
    }
    found = recognize([replace(looked(cells), path=Path(name)) for name, cells in named.items()])
    assert mapped(found, "payments") == {"order_id": "pedido", "payment_type": "forma", "payment_value": "valor"}
    assert mapped(found, "customers") == {
        "customer_id": "conta",
        "customer_unique_id": "cliente",
        "customer_state": "uf",
    }
    # Elsewhere a `valor` may be of anything, and a `conta` too.
    assert [section.name for section in recognize([looked(cells) for cells in named.values()]).sections] == ["orders"]


def test_a_column_of_customers_is_personal_where_it_holds_names() -> None:
    cells = {"avaliacao": REVIEWS["Comentário"], "cliente": ["c-1", "c-2", "c-3"]}
    assert mapped(recognize([looked(cells)]), "sentiment")["customer_id"] == "cliente"
    names: Mapping[str, Sequence[str | None]] = {**cells, "cliente": ["Ana", "Ana Lima", "Zé"]}
    people = recognize([looked(names)])
    assert mapped(people, "sentiment") == {"review": "avaliacao"}
    assert people.left_out(people.files[0])[OWN] == ("cliente",)


NUVEMSHOP: dict[str, list[str | None]] = {
    "Número do Pedido": ["1001", "1002"],
    "Data": ["10/01/2026 09:30:00", "13/01/2026 09:30:00"],
    "Status do Envio": ["Não está embalado", "Enviado"],
    "Nome do Produto": ["Kit Completo", "Caneca"],
    "Valor do Produto": ["99.90", "12.50"],
}


def test_a_code_that_some_products_lack_goes_behind_their_name() -> None:
    found = recognize([looked({**NUVEMSHOP, "SKU": ["K-1", None]})])
    assert mapped(found, "items")["product_id"] == "Nome do Produto"


@pytest.mark.parametrize(
    ("cells", "stars"), CASES["stars_in_words_and_signs_are_as_many_as_they_say_and_other_signs_wait"]
)
def test_stars_in_words_and_signs_are_as_many_as_they_say_and_other_signs_wait(cells: list[str], stars: str) -> None:
    """Once a column of emojis was taken as answers that nobody gave."""
    found = recognize([looked({"Comentário": REVIEWS["Comentário"], "Nota": cells})])
    scores = [each for section in found.sections for each in section.choices if each.ours == "score"]
    assert ["".join(each.values[cell] for cell in cells) for each in scores if each.sure] == [stars] * bool(stars)
    assert not any(each.sure for section in found.sections for each in section.choices if each.ours == "polarity")
