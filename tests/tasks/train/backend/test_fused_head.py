"""Fine-tuning by packed rows: the figures and gradients of the padded batch, with less computed."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tasks.train.backend.cpu import IGNORED_LABEL
from tasks.train.backend.fused_head import add_fused_head

END = 2
SYSTEM, OTHER = [7, 8, 9, 10, END], [7, 8, END]
DEMONSTRATIONS = (
    ([*SYSTEM, 11, 12, END], [13, 14, END]),
    ([*SYSTEM, 15], [16, END]),
    ([*OTHER, 11, 17, 18, 19], [20, 21, 22, 23, END]),
    # No turn before the answer, whose own end is none.
    ([24, 25], [26, END, 27]),
    ([24], [28, 29]),
)


@pytest.fixture
def model() -> Any:
    from transformers import AutoConfig, AutoModelForCausalLM

    size = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "head_dim": 8}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    shape = AutoConfig.for_model("qwen3", vocab_size=40, tie_word_embeddings=True, eos_token_id=END, **size, **heads)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        return AutoModelForCausalLM.from_config(shape).train()


def _batch() -> dict[str, torch.Tensor]:
    longest = max(len(prompt) + len(answer) for prompt, answer in DEMONSTRATIONS)

    def padded(rows: list[list[int]], padding: int) -> torch.Tensor:
        return torch.tensor([row + [padding] * (longest - len(row)) for row in rows])

    return {
        "input_ids": padded([prompt + answer for prompt, answer in DEMONSTRATIONS], 0),
        "attention_mask": padded([[1] * (len(prompt) + len(answer)) for prompt, answer in DEMONSTRATIONS], 0),
        "labels": padded([[IGNORED_LABEL] * len(prompt) + answer for prompt, answer in DEMONSTRATIONS], IGNORED_LABEL),
    }


def _figures(model: Any, add_head: Callable[[Any], None]) -> tuple[Any, dict[str, torch.Tensor]]:
    plain = model.forward
    add_head(model)
    found = model(**_batch(), fused_lm_head=True)
    model.zero_grad()
    (-found.log_probs.sum()).backward()
    model.forward = plain
    return found, {name: weight.grad.clone() for name, weight in model.named_parameters()}


def test_figures_and_gradients_are_those_of_the_padded_batch(model: Any) -> None:
    wanted, gradients = _figures(model, add_fused_head)
    found, packed_gradients = _figures(model, lambda each: add_fused_head(each, END))
    assert found.label_mask.equal(wanted.label_mask)
    assert found.label_mask.sum() == sum(len(answer) for _, answer in DEMONSTRATIONS)
    assert found.is_top1.equal(wanted.is_top1)
    for name in ("log_probs", "entropy", "mean_logits"):
        assert torch.allclose(found[name], wanted[name], atol=1e-5)
    for name, gradient in gradients.items():
        assert torch.allclose(packed_gradients[name], gradient, atol=1e-5 * float(gradient.norm()) + 1e-6)
