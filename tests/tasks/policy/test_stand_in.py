"""The shipped stand-in: its files are those of its card, and one that is missing, cut off or altered is refused."""

import json
import shutil
from pathlib import Path

import pytest

from schemas.config.train_sections import PolicyConfig
from schemas.errors import InputError
from tasks.policy import published
from tasks.policy.published import CARD_FILE, STAND_IN_FOLDER, read_tokenizer


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the shipped stand-in, which is read instead of it."""
    folder = tmp_path / "stand_in"
    shutil.copytree(STAND_IN_FOLDER, folder)
    monkeypatch.setattr(published, "STAND_IN_FOLDER", folder)
    return folder


def test_every_file_stands_in_its_card() -> None:
    card = json.loads((STAND_IN_FOLDER / CARD_FILE).read_text(encoding="utf-8"))
    assert {file.name for file in STAND_IN_FOLDER.iterdir()} == {*card["files"], CARD_FILE}


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "known_prompts.parquet"])
def test_a_file_that_is_missing_cut_off_or_altered_is_refused(name: str, copied: Path) -> None:
    file = copied / name
    whole = file.read_bytes()
    for damaged in (whole[:-1], bytes([whole[0] ^ 1]) + whole[1:], None):
        file.unlink() if damaged is None else file.write_bytes(damaged)
        with pytest.raises(InputError, match=rf"^{name} of the stand-in in .* restore .*`make stand-in`$"):
            read_tokenizer(PolicyConfig(stand_in=True))
