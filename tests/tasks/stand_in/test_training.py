"""Training of the stand-in: the loss falls, what has no weight is not learned, and equal runs give equal bytes."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from schemas.disk import file_sha256
from tasks.commerce.registry import TASKS
from tasks.policy.published import CARD_FILE
from tasks.stand_in.__main__ import main, make
from tasks.stand_in.lessons import Recipe
from tasks.stand_in.model import StandInShape

SMALL = Recipe(
    steps=28,
    demonstrated_steps=4,
    warmup_steps=4,
    batch_size=4,
    orders=120,
    prompts=dict.fromkeys(TASKS, 12),
    shape=StandInShape(vocabulary_size=600, hidden_size=64, layers=2, heads=4, key_value_heads=2, feed_forward_size=96),
)
SHORT = SMALL.model_copy(update={"steps": 2, "demonstrated_steps": 1})


def test_a_folder_of_something_else_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["tasks.stand_in", "--output", str(tmp_path)])
    assert main() == 2
    assert capsys.readouterr().err == f"{tmp_path} is not empty and holds no stand-in; give another folder\n"
    assert (tmp_path / "mine.txt").exists()


def test_equal_recipes_write_the_bytes_that_both_cards_promise(tmp_path: Path) -> None:
    # What a training that was killed has left is in nobody's way.
    (tmp_path / "second.draft").mkdir()
    for name in ("first", "second"):
        make(SHORT, tmp_path / name)
        assert _promised(tmp_path / name) == _digests(tmp_path / name)
    assert _promised(tmp_path / "first") == _promised(tmp_path / "second")


def _card(folder: Path) -> Any:
    return json.loads((folder / CARD_FILE).read_text(encoding="utf-8"))


def _promised(folder: Path) -> dict[str, str]:
    files: dict[str, str] = _card(folder)["files"]
    return files


def _digests(folder: Path) -> dict[str, str]:
    return {file.name: file_sha256(file) for file in folder.iterdir() if file.name != CARD_FILE}
