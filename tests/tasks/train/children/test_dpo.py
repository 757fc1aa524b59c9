"""DPO: the loss of the paper on a CPU, and its pairs."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from schemas.config.train import TrainConfig
from schemas.errors import GateRefused
from tasks.train.children.dpo import PAIRS_FILE, PreferencePair, Preferences, RewardedCompletion, pairs, require_pairs
from tasks.train.grpo.recipe import pairs_per_pass
from tasks.train.resume.state_files import read_state, write_state
from tests.tasks.curate.prompt_rows import prompt_row
from tests.tasks.train.small_training import adapter_weights, small_preference_trainer


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


ROW = prompt_row("push", "Pedido 1: livro.")


def _answers(*rewards: float) -> list[RewardedCompletion]:
    return [RewardedCompletion(f"answer {place}", reward, ended=True) for place, reward in enumerate(rewards)]


CUT = RewardedCompletion("cut", 1.0, ended=False)
WORST = RewardedCompletion("cut", 0.0, ended=False)


@pytest.mark.parametrize(
    ("answers", "paired"),
    [
        (_answers(0.5, 0.2, 0.9, 0.4), [("answer 2", "answer 1")]),
        # 0.9 - 0.8 is a little less than 0.1 in floating point.
        (_answers(0.9, 0.8), [("answer 0", "answer 1")]),
        (_answers(0.9, 0.81), []),
        # A completion that was cut off may be the worst, and never the best.
        ([CUT, *_answers(0.7, 0.1)], [("answer 0", "answer 1")]),
        ([WORST, *_answers(0.7, 0.1)], [("answer 0", "cut")]),
        ([CUT, CUT], []),
        ([CUT, *_answers(0.7)], []),
    ],
)
def test_the_best_is_paired_with_the_worst(answers: list[RewardedCompletion], paired: list[tuple[str, str]]) -> None:
    assert [(pair.chosen, pair.rejected) for pair in pairs([ROW], [answers], min_gap=0.1)] == paired


def test_a_checkpoint_gives_the_pairs_back_and_the_policy_has_the_same(tmp_path: Path) -> None:
    before, after = Preferences(), Preferences()
    sentiment = prompt_row("sentiment", 'Não gostei. \U0001f44e\n"aspas"')
    before.pairs = pairs([ROW, sentiment, ROW], [_answers(0.1, 0.3), _answers(1 / 3, 0.9), _answers(0.0, 1.0)], 0.1)
    write_state(tmp_path, "preferences", before.state_dict())
    after.load_state_dict(read_state(tmp_path, "preferences"))
    assert after.pairs == before.pairs
    assert after.by_task() == {"push": 2, "sentiment": 1}
    after.write(tmp_path)
    written = json.loads((tmp_path / PAIRS_FILE).read_text(encoding="utf-8"))
    assert [PreferencePair(**values) for values in written] == before.pairs
