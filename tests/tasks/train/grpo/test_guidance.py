"""Guided rollouts: what is sampled, what the loss is of, and that both are the same constrained policy."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tasks.commerce.registry import TASKS
from tasks.policy.guidance import GuidedLogits
from tests.tasks.train.small_training import prompt_rows, small_trainer

pytestmark = pytest.mark.slow

LENGTH = 48
LEARNING: dict[str, Any] = {
    "guided": "forms",
    "max_completion_tokens": LENGTH,
    "temperature": 0.8,
    # So that the old policy's probabilities are computed and kept.
    "iterations": 2,
    "beta": 0.3,
    "entropy": {"coefficient": 0.05},
}


def _batch(trainer: Any) -> dict[str, Any]:
    """Return what TRL makes of a step's rollouts: one pass."""
    trainer.model.train()
    torch.manual_seed(2)
    batch: dict[str, Any] = trainer._generate_and_score_completions([])
    return batch


def _constrained(trainer: Any, batch: dict[str, Any], row: int, grammar: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return log-probability and entropy of each token of one completion, as the engine computes what it draws from."""
    prompt = batch["prompt_ids"][row][batch["prompt_mask"][row].bool()]
    answer = batch["completion_ids"][row][batch["completion_mask"][row].bool()]
    sequence = torch.cat([prompt, answer]).unsqueeze(0)
    logits = trainer.model(input_ids=sequence).logits
    process = GuidedLogits(trainer.guidance._grammars, [grammar])
    chosen, entropies = [], []
    for place, token in enumerate(answer.tolist(), start=len(prompt)):
        scores = process(sequence[:, :place], logits[:, place - 1]) / trainer.temperature
        probabilities = scores.softmax(-1)[0]
        chosen.append(probabilities[token].log())
        present = probabilities[probabilities > 0]
        entropies.append(-(present * present.log()).sum())
    return torch.stack(chosen), torch.stack(entropies)


def test_the_loss_is_of_the_constrained_policy(tmp_path: Path) -> None:
    """With the unconstrained probabilities it would be another one's; its gradient is torch's."""
    trainer = small_trainer(tmp_path, prompt_rows("sentiment", "push"), **LEARNING)
    batch = _batch(trainer)
    grammars = trainer.guidance.texts(batch["grammars"])
    assert {TASKS["sentiment"].grammar} < set(grammars)
    ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1)
    mask = torch.cat([batch["prompt_mask"], batch["completion_mask"]], dim=1)
    asked = (trainer.model, ids, mask, batch["completion_ids"].shape[1])
    with torch.no_grad(), trainer.constrained(batch["grammars"]):
        found, entropies = trainer._get_per_token_logps_and_entropies(*asked, compute_entropy=True)[:2]
        free = trainer._packed.scores(*asked)[0]
    assert torch.allclose(batch["old_per_token_logps"], found * batch["completion_mask"], atol=1e-5)
    for row, grammar in enumerate(grammars):
        with torch.no_grad():
            wanted, spread = _constrained(trainer, batch, row, grammar)
        assert torch.allclose(found[row, : len(wanted)], wanted, atol=1e-4)
        assert torch.allclose(entropies[row, : len(wanted)], spread, atol=1e-4)
        assert torch.allclose(free[row, : len(wanted)], wanted, atol=1e-2) == (not grammar)


def test_an_answer_that_the_grammar_does_not_allow_replaces_no_rollout(tmp_path: Path) -> None:
    """The constrained policy could never write it: its log-probability would be minus infinity."""
    right, wrong = '{"polarity":"positive","score":5}', '{"polarity":"good","score":5}'
    for guided, corrected in (("forms", [False, True]), ("none", [True, True])):
        trainer = small_trainer(tmp_path, prompt_rows("sentiment"), guided=guided, max_completion_tokens=96)
        rollouts = trainer.rollout_generator.sample(prompt_rows("sentiment", each=1))
        found = trainer.rollout_generator.correct(rollouts, {0: wrong, 1: right})
        assert [rollout.corrected for rollout in found.rollouts] == [*corrected, False, False]
