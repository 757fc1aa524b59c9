"""The written column map is read back as what was recognised, whatever the columns are called."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.store.column_map import read_column_map
from tasks.synthesize.columns.document import column_map_text
from tasks.synthesize.columns.recognize import recognize
from tests.tasks.synthesize.columns.shop import FLAT, ITEMS, ORDERS, REVIEWS, looked


def test_the_map_is_read_back_with_paths_beside_it(tmp_path: Path) -> None:
    files = [looked(ORDERS, tmp_path / "dados" / "pedidos.csv"), looked(ITEMS, tmp_path / "dados" / "itens.csv")]
    text = column_map_text(recognize(files), tmp_path)
    (tmp_path / "columns.toml").write_text(text, encoding="utf-8")
    read = read_column_map(tmp_path / "columns.toml")
    assert [(file.table, file.path) for file in read.tables] == [
        ("orders", tmp_path / "dados/pedidos.csv"),
        ("items", tmp_path / "dados/itens.csv"),
        ("customers", tmp_path / "dados/pedidos.csv"),
    ]
    assert read.tables[0].values == {"order_status": {"Em transporte": "shipped", "Entregue": "delivered"}}
    assert all("  # " in line for line in text.splitlines() if line.startswith("order_"))


def test_unsure_choices_are_comments_that_work_once_unmarked(tmp_path: Path) -> None:
    files = [looked(ORDERS), looked({**REVIEWS, "Nota": ["9", "11", "7"]})]
    text = column_map_text(recognize(files), tmp_path)
    path = tmp_path / "columns.toml"
    path.write_text(text, encoding="utf-8")
    assert [file.table for file in read_column_map(path).tables] == ["orders", "customers"]
    assert '# review_score = "Nota"  # confirm: by its name, but its cells are not stars' in text
    block = text[text.index("# confirm this whole section") :].split("\n\n")[0].splitlines()
    path.write_text("\n".join([text, *(line.removeprefix("# ") for line in block[1:])]), encoding="utf-8")
    assert [file.table for file in read_column_map(path).tables] == ["orders", "customers", "reviews"]


def test_dates_and_decimals_that_no_cell_tells_are_to_be_confirmed(tmp_path: Path) -> None:
    cells = {**FLAT, "Data": ["01/02/2025", "03/04/2025", "05/06/2025"], "Valor": ["1.234", "2.500", "3.000"]}
    text = column_map_text(recognize([looked(cells)]), tmp_path)
    assert '# dates = "day-first"  # confirm: no date tells whether 03/04 is in April' in text
    assert "# decimals = \"comma\"  # confirm: no number of 'Valor' tells" in text
    assert "# confirm:" not in column_map_text(recognize([looked(FLAT)]), tmp_path)


@settings(deadline=None, max_examples=15)
@given(name=st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20))
def test_any_name_of_a_column_is_written_as_a_string(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp()
    (folder / "columns.toml").write_text(
        column_map_text(recognize([looked({**ORDERS, name: ["a", "b", "c"]})]), folder), encoding="utf-8"
    )
    assert read_column_map(folder / "columns.toml").tables[0].columns["order_id"] == "Nº do Pedido"
