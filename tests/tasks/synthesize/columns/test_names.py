"""The known names are of columns that exist, and are compared as people write them."""

import pytest

from schemas.store.column_map import reference_fields
from schemas.store.mapped_tables import MAPPED_TABLES
from schemas.store.tables import TABLES
from tasks.commerce.registry import TASKS
from tasks.synthesize.columns.names import folded, read_names


@pytest.mark.parametrize("name", ["ID do Pedido", "id_pedido", "idPedido", "Id  pedido:", "ID PEDIDO"])
def test_names_are_compared_without_accents_case_and_signs(name: str) -> None:
    assert folded(name) == "id pedido"


def test_every_listed_name_is_of_a_column_of_ours() -> None:
    names = read_names()
    for table, columns in names.tables.items():
        assert set(columns) <= set(MAPPED_TABLES[table].columns), table
    for group, inputs in names.prompts.items():
        task = "sentiment" if group == "review" else group
        assert set(inputs) <= set(TASKS[task].inputs.model_fields), group  # type: ignore[index]
    known = {field for task in TASKS for field in reference_fields(task)}
    assert {field for fields in names.references.values() for field in fields} <= known


def test_every_value_is_one_that_a_store_may_have() -> None:
    values = read_names().values
    for table, column in (("orders", "order_status"), ("payments", "payment_type")):
        (check,) = TABLES[table].to_schema().columns[column].checks
        assert set(values[column].values()) == set(check.statistics["allowed_values"])


def test_no_name_of_personal_data_is_the_name_of_another_column() -> None:
    names = read_names()
    for table, columns in names.tables.items():
        for column, ranks in columns.items():
            assert not names.personal & set(ranks), (table, column)
