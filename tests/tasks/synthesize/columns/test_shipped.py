"""The exports of shop systems are recognised by their header, and their maps hold no personal data."""

import pytest

from tasks.synthesize.columns.names import folded, read_names
from tasks.synthesize.columns.recognize import recognize
from tasks.synthesize.columns.shipped import shipped_maps
from tests.tasks.synthesize.columns.shop import looked

# Headers as the vendors' pages and public files have them; the cells are made up.
EXPORTS = {
    "shopify": {
        "Name": "#1001",
        "Email": "ana@exemplo.com",
        "Financial Status": "paid",
        "Paid at": "2026-09-03 10:15:00 -0300",
        "Fulfillment Status": "unfulfilled",
        "Total": "53.00",
        "Created at": "2026-09-03 10:14:00 -0300",
        "Lineitem quantity": "2",
        "Lineitem name": "Camiseta - P",
        "Lineitem price": "16.00",
        "Billing Name": "Ana Souza",
        "Shipping City": "São Paulo",
        "Shipping Province": "SP",
        "Phone": "+5511988887777",
    },
    "nuvemshop": {
        "Número do Pedido": "1001",
        "E-mail": "ana@exemplo.com",
        "Data": "10/01/2026 09:30:00",
        "Status do Envio": "Não está embalado",
        "Total": "194.80",
        "Nome do comprador": "Ana Souza",
        "CPF / CNPJ": "11144477735",
        "Nome do Produto": "Kit Completo",
        "Valor do Produto": "99.90",
        "Quantidade Comprada": "1",
        "Meio de pagamento": "Pix",
    },
    "vtex": {
        "Order": "1306331686122-01",
        "Creation Date": "2026-02-04 10:29:11Z",
        "Client Name": "Ana",
        "Client Document": "11144477735",
        "Email": "x@ct.vtex.com.br",
        "UF": "SP",
        "City": "São Paulo",
        "Status": "Faturado",
        "Payment System Name": "Visa",
        "Payment Value": "74.53",
        "Quantity_SKU": "1",
        "ID_SKU": "11",
        "SKU Selling Price": "37.26",
    },
}


@pytest.mark.parametrize("system", list(EXPORTS))
def test_an_export_is_recognised_by_its_header(system: str) -> None:
    found = recognize([looked({column: [cell] for column, cell in EXPORTS[system].items()})])
    assert [section.name for section in found.sections] == ["orders", "items", "payments", "customers"]
    assert {section.shipped for section in found.sections} == {system}
    assert all(choice.sure for section in found.sections for choice in section.choices)


@pytest.mark.parametrize("system", list(EXPORTS))
def test_a_header_that_lacks_a_needed_column_is_no_export(system: str) -> None:
    needed = next(iter(EXPORTS[system]))
    cells = {column: [cell] for column, cell in EXPORTS[system].items() if column != needed}
    assert all(section.shipped is None for section in recognize([looked(cells)]).sections)


def test_no_map_has_personal_data_but_as_an_identity() -> None:
    personal = read_names().personal
    for document in shipped_maps().values():
        for table in document.tables:
            for ours, theirs in table.columns.items():
                assert ours == "customer_unique_id" or folded(theirs) not in personal, theirs
