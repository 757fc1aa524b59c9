"""`tucano init` as a person uses it: what it writes, prints and refuses."""

import json
from pathlib import Path

import pytest

from schemas.config.profiles import load_config
from schemas.store.column_map import read_column_map
from tests.flows.command import in_this_process


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    rows = [f"{n};ana{n}@exemplo.com;Produto {n} chegou antes do prazo, adorei;{n % 5 + 1}" for n in range(80)]
    file = tmp_path / "avaliações.csv"
    file.write_bytes("\r\n".join(["Canal;E-mail;Comentário;Nota", *rows]).encode("cp1252"))
    return file


def test_a_map_and_a_profile_are_written_and_the_next_command_is_told(shop: Path, tmp_path: Path) -> None:
    ended = in_this_process("init", shop, "--out", tmp_path / "loja", "--json")
    assert ended.returncode == 0, ended.stderr
    assert [file.task for file in read_column_map(tmp_path / "loja" / "columns.toml").prompts] == [
        "extraction",
        "sentiment",
    ]
    profile = tmp_path / "loja" / "shop.toml"
    assert load_config(str(profile)).synthesize.files == tmp_path / "loja" / "columns.toml"
    assert f"then: tucano retrain --profile {profile}" in ended.stderr
    assert "not recognised: Canal" in ended.stderr
    assert "ana1@" not in ended.stderr + ended.stdout
    document = json.loads(ended.stdout)
    assert document["tasks"]["sentiment"] == {"rows": 80, "count": 80, "missing": None}
    assert document["tasks"]["churn"]["count"] == 0


def test_nothing_is_overwritten_without_force(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "columns.toml").write_text("# à mão", encoding="utf-8")
    ended = in_this_process("init", shop, "--out", tmp_path)
    assert ended.returncode == 2
    assert "columns.toml exists, and may have been corrected by hand" in ended.stderr
    assert not (tmp_path / "shop.toml").exists()
    assert in_this_process("init", shop, "--out", tmp_path, "--force").returncode == 0
    assert read_column_map(tmp_path / "columns.toml").prompts


def test_files_that_tell_nothing_leave_a_map_to_be_completed(tmp_path: Path) -> None:
    (tmp_path / "xpto.csv").write_bytes(b"a;b\n1;2\n")
    ended = in_this_process("init", tmp_path / "xpto.csv", "--out", tmp_path)
    assert ended.returncode == 0
    assert "nothing was recognised" in ended.stderr
    assert "no task can be trained yet: confirm what is right in both, or give more files" in ended.stderr


def test_a_file_that_cannot_be_read_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "torto.csv").write_bytes(b"a;b\n1\n")
    ended = in_this_process("init", tmp_path / "torto.csv", "--out", tmp_path / "loja")
    assert ended.returncode == 2
    assert "line 2 has 1 cells where the header has 2" in ended.stderr
    assert not (tmp_path / "loja").exists()


@pytest.mark.parametrize("below", ["", "loja"])
def test_a_file_in_place_of_the_folder_is_one_sentence(shop: Path, tmp_path: Path, below: str) -> None:
    (tmp_path / "notes.txt").write_text("à mão", encoding="utf-8")
    ended = in_this_process("init", shop, "--out", tmp_path / "notes.txt" / below)
    assert ended.returncode == 2
    assert "cannot be written" in ended.stderr
    assert "give a folder that you may write" in ended.stderr
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "à mão"
