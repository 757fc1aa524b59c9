"""The rollout log: every completion that was trained on, once, in the same bytes, whatever was interrupted."""

import hashlib
from pathlib import Path

import polars as pl
import pytest
import torch

from schemas.documents import ScoredRollout
from schemas.errors import InputError
from schemas.prompts import PromptRow
from tasks.train.rollout_log import ROLLOUTS_FOLDER, RolloutLog
from tasks.train.rollouts import Rollouts


def _id(prompt: str) -> str:
    return hashlib.sha256(prompt.encode()).hexdigest()


def _row(prompt: str) -> PromptRow:
    return PromptRow(_id(prompt), "push", "Responda.", prompt, {}, "simulated", None, None, None)


def _rollouts(step: int, prompt_id: str | None = None) -> Rollouts:
    """Return two groups of two: the last completion of each is cut off, and the very first is the reference's."""
    rows = [_row(f"{place} of {step}") for place in (0, 1) for _ in range(2)]
    return Rollouts(
        rows=rows,
        prompt_ids=[[1]] * 4,
        completion_ids=[[5, 6], [5, 6, 7]] * 2,
        log_probabilities=None,
        scored=[
            ScoredRollout(
                prompt_id=prompt_id or row.prompt_id,
                task="push",
                prompt=row.prompt,
                completion=f"promoção {number} de {step}",
                reward=number / 4,
                components={"short": number / 4, "named": 1.0},
                parsed=None,
                spec="grounded",
                reward_version="1",
            )
            for number, row in enumerate(rows)
        ],
        rewards=torch.zeros(4, 2),
        weights=[1.0],
        truncated=[False, True] * 2,
        corrected=[True, False, False, False],
        generations=2,
    )


def _train(log: RolloutLog, folder: Path, steps: range, every: int = 2) -> None:
    """Walk through the steps as the Trainer does, with a checkpoint every so many of them."""
    for step in steps:
        log.add(step, _rollouts(step), torch.tensor([0.5, -0.5, 0.25, -0.25]) * step)
        if step % every == 0:
            checkpoint = folder / f"checkpoint-{step}"
            checkpoint.mkdir(parents=True)
            log.save(checkpoint)


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / ROLLOUTS_FOLDER).iterdir()}


def test_a_rollout_is_found_by_its_prompt_and_step_with_all_that_was_known_of_it(tmp_path: Path) -> None:
    log = RolloutLog(tmp_path / "log", seed=7)
    _train(log, tmp_path, range(1, 6))
    log.save(tmp_path / "policy")
    found = pl.scan_parquet(tmp_path / "policy" / ROLLOUTS_FOLDER / "*.parquet").filter(
        (pl.col("prompt_id") == _id("0 of 3")) & (pl.col("step") == 3)
    )
    assert found.collect().to_dicts() == [
        {
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
        },
        {
            "prompt_id": _id("0 of 3"),
            "task": "push",
            "step": 3,
            "seed": 7,
            "completion": "promoção 1 de 3",
            "components": '{"named": 1.0, "short": 0.25}',
            "reward": 0.25,
            "advantage": -1.5,
            "tokens": 3,
            "stop_reason": "token_limit",
            "corrected": False,
        },
    ]


def test_each_checkpoint_has_a_file_for_every_save_interval_so_far_and_no_row_twice(tmp_path: Path) -> None:
    log = RolloutLog(tmp_path / "log", seed=7)
    _train(log, tmp_path, range(1, 6))
    log.save(tmp_path / "policy")
    assert sorted(_files(tmp_path / "checkpoint-4")) == ["step-000001-000002.parquet", "step-000003-000004.parquet"]
    assert max(_files(tmp_path / "policy")) == "step-000005-000005.parquet"
    steps = pl.scan_parquet(tmp_path / "policy" / ROLLOUTS_FOLDER / "*.parquet").select("step").collect()["step"]
    assert steps.to_list() == [step for step in range(1, 6) for _ in range(4)]


def test_an_interval_without_rollouts_has_no_file(tmp_path: Path) -> None:
    log = RolloutLog(tmp_path / "log", seed=7)
    _train(log, tmp_path, range(1, 3))
    log.save(tmp_path / "policy")
    assert _files(tmp_path / "policy") == _files(tmp_path / "checkpoint-2")


@pytest.mark.parametrize("same_process", [True, False])
def test_resumed_equals_uninterrupted_byte_for_byte(same_process: bool, tmp_path: Path) -> None:
    """Step 3 is done before the interruption, and again after it: it must be there once."""
    whole = RolloutLog(tmp_path / "log", seed=7)
    _train(whole, tmp_path / "whole", range(1, 6))
    whole.save(tmp_path / "whole" / "policy")

    log = RolloutLog(tmp_path / "cut log", seed=7)
    _train(log, tmp_path / "cut", range(1, 4))
    if not same_process:
        log = RolloutLog(tmp_path / "new log", seed=7)
    log.restore(tmp_path / "cut" / "checkpoint-2")
    _train(log, tmp_path / "cut", range(3, 6))
    log.save(tmp_path / "cut" / "policy")
    assert _files(tmp_path / "cut" / "policy") == _files(tmp_path / "whole" / "policy")


def test_files_of_a_later_checkpoint_are_dropped_on_the_way_back(tmp_path: Path) -> None:
    log = RolloutLog(tmp_path / "log", seed=7)
    _train(log, tmp_path, range(1, 5))
    log.restore(tmp_path / "checkpoint-2")
    log.save(tmp_path / "policy")
    assert _files(tmp_path / "policy") == _files(tmp_path / "checkpoint-2")


def test_a_row_that_leads_to_no_prompt_is_refused(tmp_path: Path) -> None:
    log = RolloutLog(tmp_path / "log", seed=7)
    log.add(1, _rollouts(1, prompt_id="one"), torch.zeros(4))
    with pytest.raises(InputError, match=r"rollouts step-000001-000001\.parquet: rows 1, 2, 3, 4: prompt_id fails"):
        log.save(tmp_path / "policy")
    assert not (tmp_path / "policy").exists()
