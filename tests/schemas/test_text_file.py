import codecs
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schemas.config.profiles import load_config
from schemas.config.train_sections import PolicyConfig
from schemas.errors import InputError
from schemas.store.column_map import read_column_map
from tasks.policy.published import given_template

PROFILE = '# opções\nextends = "local"\nseed = 7\n[train]\nmax_steps = 3\n'
MAP = '# avaliações\n[[prompts]]\npath = "a.csv"\ntask = "sentiment"\n[prompts.columns]\nreview = "opinião"\n'
TEMPLATE = "{# conversação #}\n{{ messages }}\n"

Reader = Callable[[Path], Any]
READERS: tuple[tuple[str, Reader], ...] = (
    (PROFILE, lambda path: load_config(str(path))),
    (MAP, lambda path: read_column_map(path).prompts[0].columns),
    (TEMPLATE, lambda path: given_template(PolicyConfig(name="any/model", chat_template=path))),
)


@pytest.mark.parametrize(("text", "read"), READERS, ids=["profile", "column map", "chat template"])
def test_a_file_of_any_editor_is_read_as_it_was_written(text: str, read: Reader, tmp_path: Path) -> None:
    path = tmp_path / "file.toml"
    path.write_bytes(text.encode())
    expected = read(path)
    for written in (
        *(marks * codecs.BOM_UTF8 + text.encode() for marks in (1, 2)),
        text.replace("\n", "\r\n").encode(),
    ):
        path.write_bytes(written)
        assert read(path) == expected


@pytest.mark.parametrize(("text", "read"), READERS, ids=["profile", "column map", "chat template"])
def test_another_encoding_is_one_sentence(text: str, read: Reader, tmp_path: Path) -> None:
    path = tmp_path / "file.toml"
    for encoding, said in (("utf-16", "is UTF-16, .*; save"), ("utf-32-le", "is UTF-32"), ("cp1252", "line 1 is not")):
        path.write_bytes(text.encode(encoding))
        with pytest.raises(InputError, match=rf"file\.toml:? {said}"):
            read(path)
