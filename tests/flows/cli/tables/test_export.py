"""What an export prints: a line for each file within 100 columns, and a command that can use it."""

from pathlib import Path
from typing import Any

import pytest

from flows.cli.tables.export import print_export

FILE: dict[str, Any] = {
    "read_by": "transformers' GGUF reader",
    "bytes": 8_123_456_789,
    "equal": 198,
    "prompts": 200,
    "tied": 0,
    "difference": 1.5364e-3,
    "reward_lost": 0.00325,
    "lost_low": -0.00316,
    "lost_high": 0.01625,
}


def _printed(capsys: pytest.CaptureFixture[str], modelfile: str | None, **changed: Any) -> str:
    files = [FILE | {"name": f"shop-1-{kind}.gguf", "modelfile": modelfile} | changed for kind in ("F16", "Q8_0")]
    print_export({"model": "shop", "version": "1", "format": "gguf", "files": files}, Path("out"))
    return capsys.readouterr().err


def test_a_file_has_its_loss_of_reward_with_the_interval(capsys: pytest.CaptureFixture[str]) -> None:
    text = _printed(capsys, "Modelfile-Q8_0", tied=1)
    assert "Q8_0.gguf │ 8123.5 │ 198 of 200 + 1 ties │" in text
    assert "+0.0032 (-0.0032 to +0.0163)" in text
    assert max(map(len, text.splitlines())) <= 100
    assert "use it: ollama create shop -f out/Modelfile-Q8_0" in text


def test_without_a_modelfile_it_says_why_and_names_llama_cpp(capsys: pytest.CaptureFixture[str]) -> None:
    text = _printed(capsys, None, reward_lost=None)
    assert "no Modelfile: Ollama has a tokenizer of its own for this model" in text
    assert "use it: llama-server --jinja -m out/shop-1-Q8_0.gguf" in text
    assert "not scored" in text
