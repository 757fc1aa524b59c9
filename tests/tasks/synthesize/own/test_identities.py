import stat
from pathlib import Path

import pytest

from schemas.errors import InputError
from tasks.synthesize.own.identities import KEY_FILE, open_key, pseudonym


def test_a_state_folder_keeps_one_key_for_its_owner_alone(tmp_path: Path) -> None:
    key = open_key(tmp_path / "state")
    assert open_key(tmp_path / "state") == key
    assert open_key(tmp_path / "other") != key
    assert stat.S_IMODE((tmp_path / "state" / KEY_FILE).stat().st_mode) == 0o600
    assert [path.name for path in (tmp_path / "state").iterdir()] == [KEY_FILE]


def test_a_file_that_is_no_key_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / KEY_FILE).write_bytes(b"short")
    with pytest.raises(InputError, match=r"identity\.key is no key of 32 bytes"):
        open_key(tmp_path)


def test_one_person_has_one_pseudonym_however_written_and_another_key_another() -> None:
    key = bytes(32)
    assert pseudonym(key, "111.444.777-35") == pseudonym(key, " 11144477735")
    assert pseudonym(key, "Ana@Loja.com") == pseudonym(key, "ana@loja.com ")
    assert pseudonym(key, "ana@loja.com") != pseudonym(b"\1" * 32, "ana@loja.com")
    assert pseudonym(key, "pedido-1") != pseudonym(key, "pedido1")
