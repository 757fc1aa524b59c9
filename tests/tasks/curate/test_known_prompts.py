"""Prompts that the base knows: by their words, from texts or from hashes; a file that is neither is refused."""

import json
from pathlib import Path

import polars as pl
import pytest

from schemas.errors import InputError
from tasks.curate.known_prompts import read_known, words_hashes, write_known
from tasks.personal_data.scrub import scrub

PROMPTS = ["Quantos pedidos há em SP?", "Qual é a nota média?"]


def test_hashes_are_read_as_they_were_written(tmp_path: Path) -> None:
    file = tmp_path / "known.parquet"
    write_known(words_hashes(PROMPTS), file)
    assert read_known(file).tolist() == words_hashes(PROMPTS).tolist()


def test_texts_count_by_their_words(tmp_path: Path) -> None:
    file = tmp_path / "known.jsonl"
    lines = [{"prompt": "QUANTOS pedidos  há em SP"}, {"prompt": PROMPTS[1], "answer": "4,2"}]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert read_known(file).tolist() == words_hashes(PROMPTS).tolist()


def test_personal_data_counts_as_it_does_in_a_dataset() -> None:
    """Curation hashes what is left of a prompt, and a base was often trained on the prompt as it came."""
    told = "Meu CPF é 529.982.247-25, cadê o pedido?"
    assert words_hashes([told]).tolist() == words_hashes([scrub(told)[0]]).tolist()


def test_an_empty_cell_does_not_round_the_others(tmp_path: Path) -> None:
    file = tmp_path / "known.parquet"
    hashes = words_hashes(PROMPTS).tolist()
    pl.DataFrame({"words_hash": [*hashes, None]}, schema={"words_hash": pl.UInt64}).write_parquet(file)
    assert read_known(file).tolist() == hashes


def test_other_words_are_another_prompt() -> None:
    assert set(words_hashes(PROMPTS)).isdisjoint(words_hashes(["Quantos pedidos há no RJ?"]))


def test_a_parquet_file_without_hashes_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "known.parquet"
    pl.DataFrame({"prompt": PROMPTS}).write_parquet(file)
    with pytest.raises(InputError, match=r"known\.parquet has no column words_hash"):
        read_known(file)
    file.write_bytes(b"no parquet")
    with pytest.raises(InputError, match=r"known\.parquet has no column words_hash"):
        read_known(file)
