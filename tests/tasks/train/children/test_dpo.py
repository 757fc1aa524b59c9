"""DPO: the loss of the paper on a CPU, every argument set, pairs and weights the same after a resume."""

import math
from pathlib import Path
from typing import Any

import pytest

from schemas.config.train import TrainConfig
from schemas.errors import GateRefused
from tasks.train.children.dpo import require_pairs
from tasks.train.grpo.recipe import pairs_per_pass
from tests.tasks.train.small_training import RECIPE, adapter_weights, small_preference_trainer


def _log_probability(model: Any, prompt: list[int], completion: list[int]) -> float:
    """Compute the log-probability of a completion, one token after another."""
    import torch

    total = 0.0
    for place, token in enumerate(completion):
        logits = model(torch.tensor([prompt + completion[:place]])).logits[0, -1]
        total += torch.log_softmax(logits, dim=-1)[token].item()
    return total


def test_the_loss_is_that_of_the_paper(tmp_path: Path) -> None:
    """Eq. 7 of 2305.18290: -log sigmoid(beta (log-ratio of the chosen - log-ratio of the rejected)), by the token."""
    import torch

    trainer = small_preference_trainer(tmp_path, preferences={"beta": 0.3})
    generator = torch.Generator().manual_seed(1)
    for weights in adapter_weights(trainer):
        parameter = trainer.model.get_parameter(weights)
        parameter.data = torch.randn(parameter.shape, generator=generator) / 4
    trainer.model.eval()
    rows = [trainer.train_dataset[place] for place in (0, 3, 5)]
    with torch.no_grad():
        found = trainer.compute_loss(trainer.model, trainer.data_collator(rows)).item()
        losses, margins = [], []
        for row in rows:
            prompt, chosen, rejected = row["prompt_ids"], row["chosen_ids"], row["rejected_ids"]
            better = _log_probability(trainer.model, prompt, chosen)
            worse = _log_probability(trainer.model, prompt, rejected)
            with trainer.model.disable_adapter():
                better -= _log_probability(trainer.model, prompt, chosen)
                worse -= _log_probability(trainer.model, prompt, rejected)
            margins.append(0.3 * (better - worse))
            losses.append(math.log1p(math.exp(-margins[-1])))
    assert max(losses) - min(losses) > 0.01
    assert found == pytest.approx(sum(losses) / 3, abs=1e-4)
    assert trainer._metrics["eval"]["rewards/margins"] == [pytest.approx(sum(margins) / 3, abs=1e-4)]


def test_too_few_pairs_for_a_step_are_refused() -> None:
    config = TrainConfig(prompts_per_step=2, generations=4)
    assert pairs_per_pass(config) == 4
    require_pairs(4, config)
    with pytest.raises(
        GateRefused, match=r"too few pairs \(3, one step needs 4\) .* differ by train.preferences.min_gap 0.1; raise"
    ):
        require_pairs(3, config)


DPO = {
    **RECIPE,
    "algorithm": "dpo",
    "max_steps": 6,
    "prompts_per_step": 1,
    "generations": 8,
    # A policy that knows nothing ends few of its completions.
    "max_completion_tokens": 48,
    "preferences": {"min_gap": 0.001, "prompts": 100},
}
