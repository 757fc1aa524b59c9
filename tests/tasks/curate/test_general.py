"""The choice of general instructions: exactly the share, each prompt once, and the same ones in whatever order."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.config.config import GeneralConfig
from schemas.config.train_sections import PolicyConfig
from schemas.tables.summaries import GeneralSummary
from tasks.curate.general import take_general
from tasks.policy.length import PromptLengths

LENGTHS = PromptLengths.of(PolicyConfig(stand_in=True))
MANY = [{"prompt": f"Conte até {number}.", "completion": f"Um a {number}."} for number in range(60)]


def _config(file: Path, lines: Sequence[dict[str, str]], share: float = 0.25) -> GeneralConfig:
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return GeneralConfig(path=file, share=share, name="made up", licence="CC0")


def _take(
    file: Path, lines: Sequence[dict[str, str]], training_rows: int = 60, seed: int = 1, **changes: Any
) -> tuple[pl.DataFrame, GeneralSummary]:
    options = {"lengths": LENGTHS, "most_tokens": 100, "held_out": [], **changes}
    return take_general(_config(file, lines), training_rows, seed, **options)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "general.jsonl"


@pytest.mark.slow
@given(shuffle=st.randoms(use_true_random=False), copied=st.lists(st.integers(0, 59), max_size=30))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
def test_the_order_of_the_file_decides_nothing(shuffle: random.Random, copied: list[int], file: Path) -> None:
    lines = [*MANY, *({**MANY[line], "completion": f"Resposta {place}."} for place, line in enumerate(copied))]
    expected, counts = _take(file, lines)
    shuffled = list(lines)
    shuffle.shuffle(shuffled)
    found, found_counts = _take(file, shuffled)
    assert found.equals(expected)
    assert found_counts == counts
    chosen = set(expected["prompt"])
    assert counts.copies == sum(MANY[line]["prompt"] in chosen for line in copied)


def test_prompts_over_the_budget_are_left_out_and_long_answers_are_not(file: Path) -> None:
    long = [{**line, "prompt": line["prompt"] + " Por favor." * 60} for line in MANY[:25]]
    answers = [{**line, "completion": line["completion"] * 90} for line in MANY[25:]]
    table, counts = _take(file, [*long, *answers])
    assert counts.too_long == 25
    assert set(table["prompt"]) <= {line["prompt"] for line in MANY[25:]}


def test_personal_data_is_replaced_before_copies_are_reported(file: Path) -> None:
    people = [
        {"prompt": "Escreva a ana.prado@exemplo.com.br.", "completion": "Olá, ana.prado@exemplo.com.br!"},
        {"prompt": "Escreva a rui.matos@exemplo.com.br.", "completion": "Olá, rui.matos@exemplo.com.br!"},
    ]
    table, counts = _take(file, people, training_rows=3)
    assert table.height == 1
    assert counts.copies == 1
    assert sum(counts.scrubbed.values()) == 2
    assert "exemplo.com" not in str(table.rows())
