"""Prompts that the base knows: by their words, from texts or from hashes; a file that is neither is refused."""

import json
from pathlib import Path

from tasks.curate.known_prompts import read_known, words_hashes

PROMPTS = ["Quantos pedidos há em SP?", "Qual é a nota média?"]


def test_texts_count_by_their_words(tmp_path: Path) -> None:
    file = tmp_path / "known.jsonl"
    lines = [{"prompt": "QUANTOS pedidos  há em SP"}, {"prompt": PROMPTS[1], "answer": "4,2"}]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert read_known(file).tolist() == words_hashes(PROMPTS).tolist()
