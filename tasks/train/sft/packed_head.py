"""TRL's fused language-model head over a packed row, for fine-tuning on a CPU: no padding, and each system turn once.

More than half of a short demonstration is its system turn, which all demonstrations of a task have in common. A batch
becomes one row of the update's kind: a turn takes the place of the prompt, and what follows it that of its completions.
Only what has a loss is projected to the vocabulary. Sums are those of the padded batch in another order.
"""

import functools
import types
from collections.abc import Sequence
from typing import Any

import torch
from trl.trainer.utils import FusedCausalLMOutput

from tasks.train.backend.cpu import IGNORED_LABEL, add_plain_head, token_figures
from tasks.train.grpo.packed import ANY_MASK, PackedRow, Parts, takes_packed_rows


def add_packed_head(model: torch.nn.Module, end: int) -> None:
    """Make a model with TRL's fused head handle `fused_lm_head=True` by a packed row, or else by a plain one."""
    if not takes_packed_rows(model):
        add_plain_head(model)
        return
    unfused = model.forward

    # Keeps the original signature, against which `generate` validates its arguments.
    @functools.wraps(type(model).forward)
    def forward(_model: Any, *arguments: Any, fused_lm_head: bool = False, labels: Any = None, **named: Any) -> Any:
        if not fused_lm_head:
            return unfused(*arguments, labels=labels, **named)
        ids, mask = named.pop("input_ids"), named.pop("attention_mask")
        learned = labels != IGNORED_LABEL
        # Its collator pads on the right.
        sequences = [tokens[:length] for tokens, length in zip(ids.tolist(), mask.sum(1).tolist(), strict=True)]
        parts = [
            _parts(tokens, end, first)
            for tokens, first in zip(sequences, learned.int().argmax(dim=1).tolist(), strict=True)
        ]
        row = PackedRow(parts, len(parts), ids.device)
        columns = torch.tensor([len(first) for first, _ in parts], device=ids.device)[row.rows] + row.places
        projected = learned[row.rows, columns]
        outputs = unfused(
            input_ids=row.ids.unsqueeze(0),
            attention_mask=torch.ones(ANY_MASK, dtype=torch.bool, device=ids.device),
            position_ids=row.positions.unsqueeze(0),
            packed_row=row,
            logits_to_keep=(projected.nonzero().squeeze(1) + len(row.ids) - len(row.targets)),
            **named,
        )
        figures = token_figures(outputs.logits[0], row.targets[projected])
        places = row.rows[projected], columns[projected] - 1
        placed = {
            name: values.new_zeros(labels[:, 1:].shape).index_put(places, values) for name, values in figures.items()
        }
        return FusedCausalLMOutput(label_mask=learned[:, 1:], **placed)

    model.forward = types.MethodType(forward, model)


def _parts(tokens: Sequence[int], end: int, learned: int) -> Parts:
    """Split a demonstration behind its first turn, or behind its first token if nothing before the loss ends a turn."""
    first = tokens.index(end) + 1 if end in tokens[:learned] else 1
    return tuple(tokens[:first]), tuple(tokens[first:])
