from pathlib import Path

import pytest

from schemas.errors import InputError
from schemas.store.column_map import read_column_map
from tests.cases import cases_of

CASES = cases_of(__file__)

MAP = Path(__file__).with_name("column_map.toml").read_text(encoding="utf-8")


def read(folder: Path, text: str) -> str:
    (folder / "mapa.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_column_map(folder / "mapa.toml")
    return str(caught.value)


@pytest.mark.parametrize(("old", "new", "words"), CASES["a_wrong_name_is_one_sentence_with_its_place"])
def test_a_wrong_name_is_one_sentence_with_its_place(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert words in read(tmp_path, MAP.replace(old, new, 1))
