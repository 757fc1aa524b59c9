"""Packed rows are the plain update in another order: the same log-probabilities and gradients, each prompt once."""

import logging
import random
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tasks.train.backend.cpu import CpuGRPOTrainer
from tasks.train.backend.packed import PackedUpdate, log_plain_update
from tests.tasks.train.small_training import small_trainer

VOCABULARY = 64
GENERATIONS = 4
SHAPE: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}


def model_of(family: str, **others: Any) -> Any:
    import transformers

    torch.manual_seed(0)
    config = getattr(transformers, f"{family}Config")(**SHAPE, **others)
    return getattr(transformers, f"{family}ForCausalLM")(config)


def batch(shortest: int = 1) -> tuple[torch.Tensor, torch.Tensor, int]:
    """Return ids and mask of completions of several lengths, shuffled, and the longest one's tokens."""
    draw = random.Random(1)

    def tokens(least: int, most: int) -> list[int]:
        return [draw.randrange(3, VOCABULARY) for _ in range(draw.randrange(least, most))]

    prompts = [tokens(2, 30) for _ in range(3)]
    rows = [(prompt, tokens(shortest, 17)) for prompt in prompts for _ in range(GENERATIONS)]
    draw.shuffle(rows)
    before, after = (max(map(len, part)) for part in zip(*rows, strict=True))
    ids = [[0] * (before - len(prompt)) + prompt + own + [0] * (after - len(own)) for prompt, own in rows]
    mask = [[0] * (before - len(p)) + [1] * len(p + own) + [0] * (after - len(own)) for p, own in rows]
    return torch.tensor(ids), torch.tensor(mask), after


def trainer_of(model: Any) -> Any:
    return SimpleNamespace(
        model=model,
        ref_model=None,
        num_generations=GENERATIONS,
        temperature=0.7,
        _entropy_bonus_enabled=True,
        accelerator=SimpleNamespace(autocast=nullcontext, device=torch.device("cpu")),
    )


def scores(model: Any, given: tuple[torch.Tensor, torch.Tensor, int], *, packed: bool) -> Any:
    trainer = trainer_of(model)
    if not packed:
        return CpuGRPOTrainer._by_whole_logits(trainer, model, *given, compute_entropy=True)
    update = PackedUpdate(trainer, wanted=True)
    assert update.is_on
    return update.scores(model, *given, compute_entropy=True)


def learned(
    model: Any, given: tuple[torch.Tensor, torch.Tensor, int], *, packed: bool
) -> tuple[Any, Any, dict[str, Any]]:
    """Return log-probabilities, entropies and gradients of a sum of both, with random weights."""
    model.zero_grad()
    found, entropies, _ = scores(model, given, packed=packed)
    mask = given[1][:, -given[2] :]
    weights = torch.randn(mask.shape, generator=torch.Generator().manual_seed(2)) * mask
    ((found + 0.3 * entropies) * weights).sum().backward()
    gradients = {name: each.grad.clone() for name, each in model.named_parameters() if each.grad is not None}
    return found.detach() * mask, entropies.detach() * mask, gradients


def assert_equal(one: Any, other: Any) -> None:
    for plain, packed in zip(one[:2], other[:2], strict=True):
        assert (plain - packed).abs().max() <= 1e-5
    assert one[2].keys() == other[2].keys()
    assert one[2]
    for name, gradient in one[2].items():
        assert (gradient - other[2][name]).norm() <= 1e-5 * gradient.norm(), name


@pytest.mark.parametrize("family", ["Qwen3", "Qwen2", "Llama"])
def test_log_probabilities_entropies_and_gradients_are_those_of_the_plain_update(family: str) -> None:
    model, given = model_of(family), batch()
    plain = learned(model, given, packed=False)
    assert_equal(plain, learned(model, given, packed=True))
    # The attention that takes packed rows computes all others bit for bit as before.
    again = learned(model, given, packed=False)
    assert torch.equal(plain[0], again[0])
    assert all(torch.equal(gradient, again[2][name]) for name, gradient in plain[2].items())


def test_each_prompt_is_computed_once_and_only_completions_are_projected() -> None:
    model, (ids, mask, longest) = model_of("Qwen2"), batch()
    read, projected = [], []
    model.model.embed_tokens.register_forward_hook(lambda _, given, __: read.append(given[0].numel()))
    model.lm_head.register_forward_hook(lambda _, given, __: projected.append(given[0].shape[:2].numel()))
    scores(model, (ids, mask, longest), packed=True)
    of_prompts = {tuple(row) for row in (ids * mask)[:, :-longest].tolist()}
    prompts = sum(sum(token > 0 for token in prompt) - 1 for prompt in of_prompts)
    completions = int(mask[:, -longest:].sum())
    assert len(of_prompts) == 3
    assert (read, projected) == ([prompts + completions], [completions])


@pytest.mark.parametrize(
    ("family", "others", "reason"),
    [
        ("Gemma", {"head_dim": 8}, "model_type: gemma (GemmaForCausalLM)"),
        ("Qwen2", {"use_sliding_window": True, "max_window_layers": 1}, "layer_types: sliding_attention"),
        ("Llama", {"attn_implementation": "eager"}, "attention: eager"),
        ("Qwen3", {"rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}}, "rope_type: dyn"),
    ],
)
def test_a_model_that_is_not_known_is_updated_plainly_and_says_so_once(
    family: str, others: dict[str, Any], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    log_plain_update.cache_clear()
    model = model_of(family, **others)
    attention = model.config._attn_implementation
    with caplog.at_level(logging.WARNING):
        updates = [PackedUpdate(trainer_of(model), wanted=True) for _ in range(2)]
    assert [update.scores(model, *batch()) for update in updates] == [None, None]
    assert model.config._attn_implementation == attention
    assert len([line for line in caplog.messages if reason in line]) == 1


def test_no_completion_sees_another_one_nor_another_prompt() -> None:
    model, (ids, mask, longest) = model_of("Qwen3"), batch(shortest=4)
    with torch.no_grad():
        before = scores(model, (ids, mask, longest), packed=True)[0]
        for row in range(len(ids)):
            changed = ids.clone()
            changed[row, -longest + 1] = (ids[row, -longest + 1] + 1) % VOCABULARY
            after = scores(model, (changed, mask, longest), packed=True)[0]
            others = torch.arange(len(ids)) != row
            assert torch.equal(before[others], after[others])
            assert before[row, 0] == after[row, 0]
            assert not torch.equal(before[row, 1:], after[row, 1:])


LEARNS: dict[str, Any] = {"guided_correction": {"share": 1.0}, "max_completion_tokens": 96}


@pytest.mark.slow
@pytest.mark.parametrize(
    "recipe",
    [
        {"entropy": {"coefficient": 0.01}, "guided": "forms"},
        {"beta": 0.05, "iterations": 2, "max_steps": 2, "load_in_4bit": True, "accumulation": 4},
        {"gradient_checkpointing": "torch"},
    ],
    ids=lambda recipe: next(iter(recipe)),
)
def test_a_step_has_the_loss_and_the_gradient_of_the_stock_update(tmp_path: Path, recipe: dict[str, Any]) -> None:
    figures = []
    for stock in (False, True):
        trainer = small_trainer(tmp_path / str(stock), **{**LEARNS, "max_steps": 1, **recipe}, stock_update=stock)
        assert trainer._packed.is_on is not stock
        trainer.train()
        entries = [entry for entry in trainer.state.log_history if "grad_norm" in entry]
        figures.append([[entry[name] for entry in entries] for name in ("loss", "grad_norm", "entropy")])
    ours, stock_figures = figures
    assert ours[1][0] > 0
    for one, other in zip(ours, stock_figures, strict=True):
        assert one == pytest.approx(other, rel=1e-4, abs=1e-6)
