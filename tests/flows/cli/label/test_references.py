"""`tucano audit references` on a real terminal: what is saved, what is said, and how it ends."""

import json
import signal
from pathlib import Path

import pytest

from schemas.tables.prompts import TEST_FILE
from tests.flows.terminal import terminal
from tests.prompt_tables import write_prompts
from tests.tasks.curate.prompt_rows import prompt_row

pytestmark = pytest.mark.integration

COMMAND = """
import sys
from flows.cli import main

sys.argv = ["tucano", "audit", "references", sys.argv[1], "--rater", "ana", "--out", sys.argv[2]]
main()
"""


def test_answers_are_saved_at_once_and_an_interruption_loses_none(tmp_path: Path) -> None:
    file = tmp_path / "references.jsonl"
    write_prompts([prompt_row("sentiment", "Veio quebrado", {"polarity": None, "score": None})], tmp_path / TEST_FILE)
    with terminal(COMMAND, str(tmp_path), str(file)) as screen:
        screen.wait_for("1 de 2 · sentiment", "Veio quebrado")
        screen.press("1")
        screen.wait_for("2 de 2 · sentiment", "negativo: salvo")
        assert json.loads(file.read_text(encoding="utf-8"))["reference"] == {"polarity": "negative"}
        screen.signal(signal.SIGTERM)
        code, said = screen.end()
        assert code == 4
        assert "1 of 2 answers are left" in said
        assert screen.is_restored
    with terminal(COMMAND, str(tmp_path), str(file)) as screen:
        screen.wait_for("2 de 2 · sentiment")
        screen.press("2x")
        code, said = screen.end()
        assert code == 0
        assert f"next: tucano retrain --set curate.references={file}" in said.replace("\r\n", " ")
    assert json.loads(file.read_text(encoding="utf-8"))["reference"] == {"polarity": "negative", "score": 2}
