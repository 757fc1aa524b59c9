"""The rollout log: every completion that was sampled, with all that was known of it."""

import hashlib
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
import torch

from schemas.tables.prompts import PromptRow
from tasks.train.grpo import rollout_log
from tasks.train.grpo.rollout_log import ROLLOUTS_FOLDER, RolloutLog
from tasks.train.grpo.rollouts import SampledRollout
from tests.tasks.train.small_training import rollout_groups, scored_rollout


def _id(prompt: str) -> str:
    return hashlib.sha256(prompt.encode()).hexdigest()


def _row(prompt: str) -> PromptRow:
    return PromptRow(_id(prompt), "push", "Responda.", prompt, {}, "simulated", None, None, None)


def _rollouts(step: int) -> list[SampledRollout]:
    """Return two groups of two: the last completion of each is cut off, and the very first is the reference's."""
    rows = [_row(f"{place} of {step}") for place in (0, 1) for _ in range(2)]
    scored = [
        scored_rollout(
            row, number / 4, completion=f"promoção {number} de {step}", components={"short": number / 4, "named": 1.0}
        )
        for number, row in enumerate(rows)
    ]
    sampled = rollout_groups(scored, [[0.0]] * 4, [1.0], rows, 2).rollouts
    return [
        replace(each, completion_ids=[5, 6, 7][: 2 + number % 2], truncated=number % 2 == 1, corrected=number == 0)
        for number, each in enumerate(sampled)
    ]


@pytest.fixture(autouse=True)
def two_steps_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollout_log, "STEPS_PER_FILE", 2)


def _train(log: RolloutLog, steps: range) -> None:
    for step in steps:
        log.add(step, _rollouts(step), torch.tensor([0.5, -0.5, 0.25, -0.25]) * step)


def test_a_rollout_is_found_by_its_prompt_and_step_with_all_that_was_known_of_it(tmp_path: Path) -> None:
    log = RolloutLog(tmp_path / "log", seed=7)
    _train(log, range(1, 6))
    (tmp_path / "policy").mkdir()
    log.write(tmp_path / "policy")
    found = pl.scan_parquet(tmp_path / "policy" / ROLLOUTS_FOLDER / "*.parquet").filter(
        (pl.col("prompt_id") == _id("0 of 3")) & (pl.col("step") == 3)
    )
    first, second = found.collect().to_dicts()
    assert first == {
        "prompt_id": _id("0 of 3"),
        "task": "push",
        "step": 3,
        "seed": 7,
        "completion": "promoção 0 de 3",
        "components": '{"named": 1.0, "short": 0.0}',
        "reward": 0.0,
        "advantage": 1.5,
        "tokens": 2,
        "stop_reason": "end_of_turn",
        "corrected": True,
    }
    assert (second["advantage"], second["stop_reason"], second["corrected"]) == (-1.5, "token_limit", False)
