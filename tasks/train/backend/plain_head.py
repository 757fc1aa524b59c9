"""TRL's fused language-model head in plain torch, for CPUs, which lack the Triton of TRL's kernel."""

import functools
import types
from typing import Any, Final

import torch
from trl.trainer.utils import FusedCausalLMOutput

IGNORED_LABEL: Final = -100
"""Label of a token without loss, in all of transformers."""


def add_plain_head(model: torch.nn.Module) -> None:
    """Make a model with TRL's fused head handle `fused_lm_head=True` on a CPU as on a GPU.

    TRL's own losses, reference policy and metrics stay in use; only its kernel is replaced.
    """
    unfused = model.forward

    # Keeps the original signature, against which `generate` validates its arguments.
    @functools.wraps(type(model).forward)
    def forward(_model: Any, *arguments: Any, fused_lm_head: bool = False, labels: Any = None, **named: Any) -> Any:
        if not fused_lm_head:
            return unfused(*arguments, labels=labels, **named)
        wanted = labels[:, 1:]
        learned = wanted != IGNORED_LABEL
        # Prompts are most of the tokens and have no loss, so their logits are left out.
        first = int(learned.any(dim=0).int().argmax())
        outputs = unfused(*arguments, logits_to_keep=labels.shape[1] - first, **named)
        figures = token_figures(outputs.logits[:, :-1][learned[:, first:]], wanted[learned])
        placed = {
            name: values.new_zeros(learned.shape).masked_scatter(learned, values) for name, values in figures.items()
        }
        return FusedCausalLMOutput(label_mask=learned, **placed)

    model.forward = types.MethodType(forward, model)


def token_figures(logits: torch.Tensor, tokens: torch.Tensor) -> dict[str, torch.Tensor]:
    """Return what TRL's head says of each token, (tokens,)."""
    by_token = torch.log_softmax(logits, dim=-1)
    figures = {"log_probs": by_token.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)}
    with torch.no_grad():
        figures["entropy"] = -(by_token.exp() * by_token).sum(-1)
        figures["mean_logits"] = logits.mean(-1)
        figures["is_top1"] = logits.argmax(-1) == tokens
    return figures
