"""What the trainer adds to TRL's: rollouts of its own choice, other advantages, and log-probabilities on a CPU."""

from pathlib import Path
from typing import Any

import pytest

from tasks.train.grpo.rollouts import SampledRollout
from tests.tasks.train.small_training import adapter_weights, prompt_rows, small_trainer

pytestmark = pytest.mark.slow


def _train(folder: Path, **recipe: Any) -> tuple[Any, list[tuple[int, list[SampledRollout], Any]]]:
    seen: list[tuple[int, list[SampledRollout], Any]] = []
    trainer = small_trainer(folder, on_rollouts=lambda *of_step: seen.append(of_step), **recipe)
    trainer.train()
    return trainer, [of_step for of_step in seen if of_step[2] is not None]


def test_completions_of_one_forward_pass_or_of_eight_move_the_adapter_alike(tmp_path: Path) -> None:
    """1x8 equals 8x1."""
    import torch

    whole, _ = _train(tmp_path / "whole", max_steps=2)
    parts, _ = _train(tmp_path / "parts", max_steps=2, accumulation=8)
    for name, weights in adapter_weights(whole).items():
        assert torch.allclose(weights, adapter_weights(parts)[name], atol=1e-5), name


def test_a_right_answer_given_to_the_policy_is_trained_on_and_not_reported_as_earned(tmp_path: Path) -> None:
    trainer, seen = _train(tmp_path, guided_correction={"share": 1.0}, max_completion_tokens=96, max_steps=1)
    ((_, rollouts, advantages),) = seen
    given = [place for place, rollout in enumerate(rollouts) if rollout.corrected]
    assert len(given) == 2
    for place in given:
        assert rollouts[place].scored.reward > 0.85
        assert advantages[place] == advantages[place // 4 * 4 : place // 4 * 4 + 4].max()
        assert rollouts[place].completion_ids[-1] == trainer.processing_class.eos_token_id
    (entry,) = [entry for entry in trainer.state.log_history if "reward" in entry]
    assert entry["reward"] < 0.1
    assert entry["sampling/corrected"] == pytest.approx(2 / 8)


def test_divergence_from_the_base_is_reported_without_a_penalty(tmp_path: Path) -> None:
    trainer, _ = _train(tmp_path, guided_correction={"share": 1.0}, max_completion_tokens=96)
    divergences = [entry["kl"] for entry in trainer.state.log_history if "kl" in entry]
    assert divergences[0] == pytest.approx(0.0, abs=1e-6)
    assert divergences[-1] > divergences[0]
    assert len(divergences) == 4


def _sampled(trainer: Any) -> list[list[int]]:
    return [rollout.completion_ids for rollout in trainer.rollout_generator.sample(prompt_rows()[:3:2]).rollouts]


def test_rollouts_are_decided_by_seed_step_and_attempt_and_not_by_the_random_state(tmp_path: Path) -> None:
    import torch

    one, other = small_trainer(tmp_path), small_trainer(tmp_path, seed=6)
    assert one.rollout_generator.engine == "ours"
    first = _sampled(one)
    torch.manual_seed(0)
    attempts = [_sampled(one) for _ in range(2)]
    one.state.global_step = 1
    next_step = _sampled(one)
    one.state.global_step = 0
    # As when the step is taken again after the machine was lost.
    assert _sampled(one) == first
    drawn = [first, *attempts, next_step, _sampled(other)]
    assert len({str(ids) for ids in drawn}) == len(drawn)
    assert len({str(ids) for ids in first}) == len(first)
