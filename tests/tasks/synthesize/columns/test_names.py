"""The known names are of columns that exist, and are compared as people write them."""

import pytest

from tasks.synthesize.columns.names import folded, read_names


@pytest.mark.parametrize(
    ("one", "names"),
    [
        ("ID do Pedido", ["id_pedido", "idPedido", "Id  pedido:", "Cód. da venda", "Order ID", "pedido (código)"]),
        ("número da venda", ["N.º de venda", "Nº do Pedido", "N° pedido", "Order #", "Number of the order"]),
        ("status do pagamento", ["Estado do pagamento", "Situação do Pagamento", "Payment Status"]),
        ("cancelado parcialmente", ["Parcialmente cancelada", "CANCELADA PARCIALMENTE", "wc-cancelado-parcial"]),
        ("total", ["Total (BRL)", "Total (R$)"]),
    ],
)
def test_names_are_compared_by_what_they_say(one: str, names: list[str]) -> None:
    assert {folded(name) for name in names} == {folded(one)}


def test_no_name_of_personal_data_is_the_name_of_another_column() -> None:
    names = read_names()
    for table, columns in names.tables.items():
        for column, ranks in columns.items():
            assert not names.personal & set(ranks), (table, column)
