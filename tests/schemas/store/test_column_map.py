from pathlib import Path

import pytest

from schemas.errors import InputError
from schemas.store.column_map import read_column_map

MAP = Path(__file__).with_name("column_map.toml").read_text(encoding="utf-8")


def read(folder: Path, text: str) -> str:
    (folder / "mapa.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_column_map(folder / "mapa.toml")
    return str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("task =", "taks =", "prompts.1.taks is no key of it; the keys are columns, "),
        ('"orders"', '"order"', "tables.1.table: Input should be 'orders'"),
        ('"data"\n', '"data"\norder_approved_at = "data"\n', "is both order_purchase_timestamp and order_approved_at"),
        ('"comentario"', '"sentimento"', "is both review and reference.polarity, so that the answer would"),
        ('order_purchase_timestamp = "data"\n', "", "columns lacks order_purchase_timestamp, without which"),
        (".csv", ".xls", "'pedidos.xls' ends in none of .csv"),
        ("[tables.columns]", "[tables.values.order_status]\nPago = \"approved\"\n[tables.columns]",
         "'order_status' is no column of ours that is mapped here"),
    ],
)  # fmt: skip
def test_a_wrong_name_is_one_sentence_with_its_place(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert words in read(tmp_path, MAP.replace(old, new, 1))
