"""Guided rollouts: what is sampled, what the loss is of, and that both are the same constrained policy."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from tasks.commerce.registry import TASKS
from tasks.commerce.text.parser import parse_object
from tasks.policy.guidance import GuidedLogits
from tasks.train.grpo.guidance import RolloutGuidance
from tasks.train.grpo.rollouts import RolloutGroups
from tests.tasks.train.small_training import adapter_weights, prompt_rows, small_trainer

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


def _norm(module: Any, hidden: torch.Tensor) -> torch.Tensor:
    """Compute transformers' norm, which is in float32 whatever it is given."""
    scale = torch.rsqrt(hidden.square().mean(-1, keepdim=True) + module.variance_epsilon)
    return module.weight * hidden * scale  # type: ignore[no-any-return]


def _moved(folder: Path, **recipe: Any) -> Any:
    """Return a trainer in float64 whose policy has left the reference policy, so that the penalty has a gradient."""
    trainer = small_trainer(folder, prompt_rows("sentiment", "push"), **{**LEARNING, **recipe})
    trainer.model.double()
    for module in trainer.model.modules():
        if type(module).__name__.endswith("RMSNorm"):
            module.forward = partial(_norm, module)
    generator = torch.Generator().manual_seed(1)
    for parameter in trainer.model.parameters():
        if parameter.requires_grad:
            parameter.data += 0.1 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return trainer


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


def _objective(trainer: Any, batch: dict[str, Any], grammars: Sequence[str], old: Sequence[torch.Tensor]) -> float:
    """Return the loss as the papers write it, token by token: Dr. GRPO, the KL penalty k3, and the entropy bonus."""
    loss, entropy, tokens = 0.0, 0.0, 0
    rows = len(grammars)
    for row, grammar in enumerate(grammars):
        new, entropies = _constrained(trainer, batch, row, grammar)
        with trainer.model.disable_adapter():
            reference, _ = _constrained(trainer, batch, row, grammar)
        penalty = (reference - new).exp() - (reference - new) - 1
        gained = (new - old[row]).exp() * batch["advantages"][row].double()
        loss += (0.3 * penalty - gained).sum().item() / (rows * LENGTH)
        entropy += entropies.sum().item()
        tokens += len(new)
    return loss - 0.05 * entropy / tokens


def _derivatives(trainer: Any, measure: Callable[[], float], directions: Sequence[dict[str, Any]]) -> list[float]:
    """Return the derivative of a measure along each direction, by central differences."""
    parameters, step = dict(trainer.model.named_parameters()), 1e-5
    found = []
    for direction in directions:
        values = []
        for sign in (1, -2, 1):
            for name, change in direction.items():
                parameters[name].data += sign * step * change
            values.append(measure())
        found.append((values[0] - values[1]) / (2 * step))
    return found


def _gradient(trainer: Any, batch: dict[str, Any]) -> dict[str, torch.Tensor]:
    trainer.model.zero_grad()
    trainer.current_gradient_accumulation_steps = 1
    trainer.compute_loss(trainer.model, batch).backward()
    return {name: parameter.grad for name, parameter in trainer.model.named_parameters() if parameter.requires_grad}


def test_the_gradient_is_that_of_the_constrained_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By finite differences of one parameter and of all; with the unconstrained probabilities it would be another's."""
    trainer = _moved(tmp_path)
    batch = _batch(trainer)
    grammars = trainer.guidance.texts(batch["grammars"])
    assert {TASKS["sentiment"].grammar} < set(grammars)
    assert batch["advantages"].any()
    gradient = _gradient(trainer, batch)
    generator = torch.Generator().manual_seed(4)
    steepest = max(gradient, key=lambda name: gradient[name].abs().max())
    alone = torch.zeros_like(gradient[steepest])
    alone.view(-1)[gradient[steepest].abs().argmax()] = 1.0
    everywhere = {
        name: torch.randn(values.shape, generator=generator, dtype=torch.float64) for name, values in gradient.items()
    }
    directions = [{steepest: alone}, everywhere]

    with torch.no_grad():
        old = [_constrained(trainer, batch, row, grammar)[0] for row, grammar in enumerate(grammars)]
        wanted = _derivatives(trainer, lambda: _objective(trainer, batch, grammars, old), directions)

    def along(gradient: dict[str, torch.Tensor]) -> list[float]:
        return [sum((gradient[name] * each).sum().item() for name, each in way.items()) for way in directions]

    # Terms may cancel along a direction, down to the rounding of the advantages, which are float32.
    assert along(gradient) == pytest.approx(wanted, rel=1e-5)
    every = torch.ones_like
    allowed = RolloutGuidance.allowed
    monkeypatch.setattr(RolloutGuidance, "allowed", lambda *given: every(allowed(*given)))
    unmasked = along(_gradient(trainer, batch))
    assert all(abs(found - right) > 0.1 * abs(right) for found, right in zip(unmasked, wanted, strict=True))


@pytest.mark.parametrize(
    "recipe",
    [
        {"guided": "all", "beta": 0.1, "entropy": {"coefficient": 0.01}, "iterations": 2, "accumulation": 2},
        {"guided": "all", "guided_correction": {"share": 1.0}},
        {"guided": "forms", "gradient_checkpointing": "torch", "mask_truncated": True, "max_completion_tokens": 30},
    ],
    ids=", ".join,
)
def test_every_guided_rollout_has_its_form_and_no_figure_is_nan(tmp_path: Path, recipe: dict[str, Any]) -> None:
    seen: list[RolloutGroups] = []
    settings = {"max_completion_tokens": 160, "max_steps": 2, **recipe}
    trainer = small_trainer(tmp_path, on_rollouts=lambda step, rollouts, _: seen.append(rollouts), **settings)
    trainer.train()
    guided = 0
    for rollouts in seen:
        for row, scored, truncated in zip(rollouts.rows, rollouts.scored, rollouts.truncated, strict=True):
            if row.task == "sentiment":
                assert truncated or parse_object(scored.completion).cleanliness == 1.0
                guided += not truncated
    assert guided
    entries = [entry for entry in trainer.state.log_history if "grad_norm" in entry]
    assert len(entries) == 2
    for entry in entries:
        numbers = [value for value in entry.values() if isinstance(value, float)]
        assert all(map(math.isfinite, numbers)), entry
    assert any(entry["grad_norm"] > 0 for entry in entries)
    assert all(torch.isfinite(weights).all() for weights in adapter_weights(trainer).values())


def test_an_answer_that_the_grammar_does_not_allow_replaces_no_rollout(tmp_path: Path) -> None:
    """The constrained policy could never write it: its log-probability would be minus infinity."""
    right, wrong = '{"polarity":"positive","score":5}', '{"polarity":"good","score":5}'
    for guided, corrected in (("forms", [False, True]), ("none", [True, True])):
        trainer = small_trainer(tmp_path, prompt_rows("sentiment"), guided=guided, max_completion_tokens=96)
        rollouts = trainer.rollout_generator.sample(prompt_rows("sentiment", each=1))
        found = trainer.rollout_generator.correct(rollouts, {0: wrong, 1: right})
        assert found.corrected[:2] == corrected
        assert found.corrected[2:] == [False, False]
