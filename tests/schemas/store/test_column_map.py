from pathlib import Path

import pytest

from schemas.errors import InputError
from schemas.store.column_map import read_column_map

MAP = """
[[prompts]]
path = "avaliacoes.jsonl"
task = "sentiment"
[prompts.columns]
review = "comentario"
[prompts.reference]
polarity = "sentimento"
[[tables]]
path = "pedidos.csv"
table = "orders"
[tables.columns]
order_id = "numero"
order_purchase_timestamp = "data"
"""


def read(folder: Path, text: str) -> str:
    (folder / "mapa.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_column_map(folder / "mapa.toml")
    return str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("task =", "taks =", "prompts.1.taks is no key of it, did you mean 'task'?"),
        ('"sentiment"', '"sentimnt"', "prompts.1.task is 'sentimnt', did you mean 'sentiment'?"),
        ('"orders"', '"order"', "tables.1.table is 'order', did you mean 'orders'?"),
        ("polarity =", "polaridade =", "no field of the reference of sentiment, did you mean 'polarity'?"),
        ("order_id =", "orderid =", "'orderid' is no column of orders, did you mean 'order_id'?"),
        ('"data"\n', '"data"\norder_approved_at = "data"\n', "is both order_purchase_timestamp and order_approved_at"),
        ('"comentario"', '"sentimento"', "is both review and reference.polarity, so that the answer would"),
        ('order_purchase_timestamp = "data"\n', "", "columns lacks order_purchase_timestamp, without which"),
        ('task = "sentiment"\n', "", "give either task or task_column"),
        (".csv", ".xls", "'pedidos.xls' ends in none of .csv"),
        ('"data"\n', '"data"\norder_id = "outra"\n', "is no TOML"),
        ("[tables.columns]", "[tables.values.order_status]\nPago = \"approved\"\n[tables.columns]",
         "'order_status' is no column of ours that is mapped here"),
    ],
)  # fmt: skip
def test_a_wrong_name_is_one_sentence_with_the_nearest(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert words in read(tmp_path, MAP.replace(old, new, 1))


def test_a_table_comes_from_one_file(tmp_path: Path) -> None:
    assert "table orders is there 2 times" in read(tmp_path, MAP + MAP[MAP.index("[[tables]]") :])


def test_a_map_that_names_nothing_or_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "it names no file; give a [[prompts]] or a [[tables]]" in read(tmp_path, "")
    with pytest.raises(InputError, match=r"nowhere\.toml does not exist"):
        read_column_map(tmp_path / "nowhere.toml")
