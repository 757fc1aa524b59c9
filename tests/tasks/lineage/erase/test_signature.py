"""Signed reports: whole or refused, of this folder or another, and an id that only the key tells."""

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import GateRefused, InputError
from tasks.lineage.erase.signature import KEY_FILE, Signer, fingerprint, read_signed
from tests.small_disk import empty, fill, mounted_disk

DOCUMENT = {"subject": "1", "log_lines": {"logs": 2}, "text": "não alcançado"}


def written(folder: Path, document: dict[str, Any]) -> Path:
    file = folder / "report.json"
    file.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return file


def test_what_was_signed_is_read_back(tmp_path: Path) -> None:
    signed = Signer(tmp_path).signed(DOCUMENT)
    document = read_signed(written(tmp_path, signed))
    assert document.items() >= DOCUMENT.items()
    assert Signer(tmp_path).is_own(document)
    assert len(fingerprint(document)) == 16
    assert (tmp_path / KEY_FILE).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("change", [{"log_lines": {"logs": 3}}, {"added": 1}])
def test_a_changed_one_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    signed = Signer(tmp_path).signed(DOCUMENT)
    with pytest.raises(GateRefused, match="was changed after it was signed"):
        read_signed(written(tmp_path, {**signed, **change}))


def test_one_that_is_signed_again_by_another_is_not_of_this_folder(tmp_path: Path) -> None:
    other = Signer(tmp_path / "other").signed(DOCUMENT)
    assert not Signer(tmp_path).is_own(read_signed(written(tmp_path, other)))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"signature": "00", "public_key": "xx"}'])
def test_what_is_no_report_is_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "report.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="is no report of `tucano forget`"):
        read_signed(tmp_path / "report.json")


def test_an_id_is_told_again_by_its_key_alone(tmp_path: Path) -> None:
    one, other = Signer(tmp_path / "one"), Signer(tmp_path / "other")
    assert one.subject("ana") == Signer(tmp_path / "one").subject("ana") != other.subject("ana")
    assert one.subject("ana") != one.subject("bia")


def test_an_altered_key_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / KEY_FILE).write_text("short", encoding="ascii")
    with pytest.raises(InputError, match="was altered"):
        Signer(tmp_path)


def test_a_key_for_which_the_disk_has_no_room_is_made_once_it_has(tmp_path: Path) -> None:
    with mounted_disk(tmp_path, 1 << 20) as disk:
        fill(disk)
        with pytest.raises(InputError, match=r"the disk of \S+/disk ran full \(0 MB free now\); free some space"):
            Signer(disk).subject("c1", None)
        empty(disk)
        subject = Signer(disk).subject("c1", None)
        assert Signer(disk).subject("c1", None) == subject
