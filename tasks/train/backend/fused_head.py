"""TRL's fused language-model head on a CPU, where its kernel's Triton is missing: only its kernel is replaced.

For fine-tuning a batch becomes one packed row of the update's kind, without padding. More than half of a short
demonstration is its system turn, which all demonstrations of a task have in common: a turn takes the place of the
prompt, and what follows it that of its completions. Sums are those of the padded batch in another order.
"""

import functools
import types
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from trl.trainer.utils import FusedCausalLMOutput

from tasks.train.backend.cpu import IGNORED_LABEL
from tasks.train.backend.packed import ANY_MASK, PackedRow, Parts, takes_packed_rows


def add_fused_head(model: torch.nn.Module, end: int | None = None) -> None:
    """Make a model with TRL's fused head handle `fused_lm_head=True` on a CPU as on a GPU.

    With the token that ends a turn it does so by packed rows, if its attention takes them. Prompts are most of the
    tokens and have no loss, so their logits are left out.
    """
    unfused = model.forward
    packs = end is not None and takes_packed_rows(model)

    # Keeps the original signature, against which `generate` validates its arguments.
    @functools.wraps(type(model).forward)
    def forward(_model: Any, *arguments: Any, fused_lm_head: bool = False, labels: Any = None, **named: Any) -> Any:
        if not fused_lm_head:
            return unfused(*arguments, labels=labels, **named)
        wanted = labels[:, 1:]
        learned = wanted != IGNORED_LABEL
        if packs:
            logits, places = _packed(unfused, learned, end, **named)
        else:
            first = int(learned.any(dim=0).int().argmax())
            outputs = unfused(*arguments, logits_to_keep=labels.shape[1] - first, **named)
            logits, places = outputs.logits[:, :-1][learned[:, first:]], learned.nonzero(as_tuple=True)
        placed = {
            name: values.new_zeros(learned.shape).index_put(places, values)
            for name, values in _figures(logits, wanted[places]).items()
        }
        return FusedCausalLMOutput(label_mask=learned, **placed)

    model.forward = types.MethodType(forward, model)


def _packed(
    unfused: Any, learned: Tensor, end: Any, *, input_ids: Tensor, attention_mask: Tensor, **named: Any
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Return the logits of what is learned, (tokens, vocabulary), and the row and column of each in `learned`."""
    # The collator pads on the right.
    lengths = attention_mask.sum(1).tolist()
    first_learned = (learned.int().argmax(dim=1) + 1).tolist()
    parts = [
        _parts(tokens[:length], end, first)
        for tokens, length, first in zip(input_ids.tolist(), lengths, first_learned, strict=True)
    ]
    row = PackedRow(parts, len(parts), input_ids.device)
    columns = torch.tensor([len(first) - 1 for first, _ in parts], device=input_ids.device)[row.rows] + row.places
    projected = learned[row.rows, columns]
    outputs = unfused(
        input_ids=row.ids.unsqueeze(0),
        attention_mask=torch.ones(ANY_MASK, dtype=torch.bool, device=input_ids.device),
        position_ids=row.positions.unsqueeze(0),
        packed_row=row,
        logits_to_keep=(projected.nonzero().squeeze(1) + len(row.ids) - len(row.targets)),
        **named,
    )
    return outputs.logits[0], (row.rows[projected], columns[projected])


def _parts(tokens: Sequence[int], end: int, learned: int) -> Parts:
    """Split a demonstration behind its first turn, or behind its first token if nothing before the loss ends a turn."""
    first = tokens.index(end) + 1 if end in tokens[:learned] else 1
    return tuple(tokens[:first]), tuple(tokens[first:])


def _figures(logits: Tensor, tokens: Tensor) -> dict[str, Tensor]:
    """Return what TRL's head says of each token, (tokens,)."""
    by_token = torch.log_softmax(logits, dim=-1)
    figures = {"log_probs": by_token.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)}
    with torch.no_grad():
        figures["entropy"] = -(by_token.exp() * by_token).sum(-1)
        figures["mean_logits"] = logits.mean(-1)
        figures["is_top1"] = logits.argmax(-1) == tokens
    return figures
