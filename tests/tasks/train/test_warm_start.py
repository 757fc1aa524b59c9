"""The warm start's demonstrations: general instructions at their share in every batch, and none changes the others."""

import io
import random
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.config import PolicyConfig, WarmStartConfig
from schemas.instructions import COLUMNS, GENERAL_FILE
from tasks.policy.child import Channel
from tasks.policy.demonstrations import demonstrate
from tasks.policy.generate import as_messages
from tasks.policy.load import load_tokenizer
from tasks.train import warm_start
from tasks.train.warm_start import WarmStartRequest
from tests.prompt_tables import prompt_table
from tests.tasks.curate.prompt_rows import prompt_row

ROWS = [prompt_row("sentiment", f"Avaliação {number}") for number in range(9)]
GENERAL = [{"system": "", "prompt": f"Geral {number}", "completion": f"paralelepípedo {number}"} for number in range(3)]


def _shown(general: list[dict[str, str]], steps: int, batch_size: int, seed: int = 1) -> list[dict[str, Any]]:
    return list(warm_start._with_general(ROWS, general, WarmStartConfig(steps=steps, batch_size=batch_size), seed))


def _is_general(demonstration: dict[str, Any]) -> bool:
    return bool(demonstration["prompt"][1]["content"].startswith("Geral"))


@given(seed=st.integers(0, 99), steps=st.integers(1, 6), batch_size=st.integers(1, 8))
def test_without_general_instructions_the_demonstrations_are_the_prompts_alone(
    seed: int, steps: int, batch_size: int
) -> None:
    """One generator draws a round of prompts and then their faults, so that earlier warm starts can be made again."""
    generator = random.Random(seed)
    expected: list[dict[str, Any]] = []
    while len(expected) < steps * batch_size:
        for row in generator.sample(ROWS, k=min(steps * batch_size - len(expected), len(ROWS))):
            answer = demonstrate(row.task, row.reference, generator)
            expected.append(
                {
                    "prompt": as_messages(row.system, row.prompt),
                    "completion": [{"role": "assistant", "content": answer}],
                }
            )
    assert _shown([], steps, batch_size, seed) == expected


@given(steps=st.integers(1, 40), batch_size=st.integers(1, 8), count=st.integers(1, 9))
def test_general_instructions_have_their_share_in_every_stretch(steps: int, batch_size: int, count: int) -> None:
    general = [{"system": "", "prompt": f"Geral {number}", "completion": "Sim."} for number in range(count)]
    shown = _shown(general, steps, batch_size)
    share = count / (count + len(ROWS))
    assert len(shown) == steps * batch_size
    for stretch in range(1, len(shown) + 1):
        assert abs(sum(map(_is_general, shown[:stretch])) - share * stretch) <= 1.5


@given(steps=st.integers(1, 40), seed=st.integers(0, 99))
def test_every_row_is_shown_before_any_again(steps: int, seed: int) -> None:
    seen = Counter(demonstration["prompt"][1]["content"] for demonstration in _shown(GENERAL, steps, 4, seed))
    for rows in (
        [seen[row.prompt] for row in ROWS],
        [seen[row["prompt"]] for row in GENERAL],
    ):
        assert max(rows) - min(rows) <= 1


def test_an_instruction_is_shown_as_it_stands() -> None:
    only = {"system": "Seja breve.", "prompt": "Geral", "completion": "Sim."}
    (shown,) = [demonstration for demonstration in _shown([only], 1, 10) if _is_general(demonstration)]
    assert shown["prompt"] == as_messages("Seja breve.", "Geral")
    assert shown["completion"] == [{"role": "assistant", "content": "Sim."}]


def test_the_seed_decides_the_general_ones_too() -> None:
    assert _shown(GENERAL, 5, 4, seed=1) == _shown(GENERAL, 5, 4, seed=1)
    orders = [
        [demonstration["prompt"] for demonstration in _shown(GENERAL, 5, 4, seed) if _is_general(demonstration)]
        for seed in range(5)
    ]
    assert any(order != orders[0] for order in orders)


@pytest.mark.integration
def test_the_stand_in_learns_from_both_in_every_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tasks.train.trainer import WarmStartTrainer

    (tmp_path / "data").mkdir()
    prompt_table(ROWS).write_parquet(tmp_path / "data" / "train.parquet")
    pl.DataFrame(GENERAL, COLUMNS).write_parquet(tmp_path / GENERAL_FILE)
    batches = []
    compute_loss = WarmStartTrainer.compute_loss

    def recorded(self: Any, model: Any, inputs: dict[str, Any], *others: Any, **named: Any) -> Any:
        batches.append(inputs["input_ids"].tolist())
        return compute_loss(self, model, inputs, *others, **named)

    monkeypatch.setattr(WarmStartTrainer, "compute_loss", recorded)
    request = WarmStartRequest(
        policy=PolicyConfig(
            stand_in=True, vocabulary_size=512, hidden_size=32, layers=1, heads=2, feed_forward_size=32
        ),
        warm_start=WarmStartConfig(steps=3, batch_size=4),
        seed=1,
        dataset=tmp_path,
        output=tmp_path / "output",
    )
    (tmp_path / "request.json").write_text(request.model_dump_json(), encoding="utf-8")
    warm_start.main(tmp_path / "request.json", Channel(io.StringIO()))
    tokenizer = load_tokenizer(tmp_path / "output")
    assert [sum("Geral" in tokenizer.decode(row) for row in batch) for batch in batches] == [1, 1, 1]
    assert [len(batch) for batch in batches] == [4, 4, 4]
    summary = pl.read_json(tmp_path / "output" / warm_start.SUMMARY_FILE)
    assert summary.select("demonstrations", "general").row(0) == (12, 3)
    assert len(tokenizer.encode(" paralelepípedo", add_special_tokens=False)) <= 3
