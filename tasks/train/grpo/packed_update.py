"""Log-probabilities of completions by packed rows, in place of a row for each completion with its prompt."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from tasks.train.backend.cpu import token_scores
from tasks.train.backend.plain_head import IGNORED_LABEL
from tasks.train.grpo.packed import ANY_MASK, PackedRow, parts_of, takes_packed_rows


class PackedUpdate:
    """Packed rows of a trainer."""

    def __init__(self, trainer: Any, *, wanted: bool) -> None:
        self._trainer = trainer
        self.fused = trainer.accelerator.device.type != "cpu"
        """Whether TRL's fused head computes the log-probabilities."""
        models = (trainer.model, trainer.ref_model) if wanted else ()
        self.is_on = wanted and all(takes_packed_rows(model) for model in models if model is not None)
        """Whether completions are packed."""

    def scores(
        self,
        model: torch.nn.Module,
        ids: Tensor,
        mask: Tensor,
        completion_tokens: int,
        batch_size: int | None = None,
        compute_entropy: bool = False,
        allowed: Callable[[slice], Tensor] | None = None,
        **_: Any,
    ) -> tuple[Tensor, Tensor | None, None] | None:
        """Return log-probabilities and entropies of completion tokens as TRL does; None if it is to compute them.

        Padding has 0.
        """
        if not self.is_on:
            return None
        size = batch_size or len(ids)
        log_probabilities, entropies = [], []
        for start in range(0, len(ids), size):
            rows = slice(start, start + size)
            parts = parts_of(ids[rows], mask[rows], completion_tokens)
            row = PackedRow(parts, self._trainer.num_generations, ids.device)
            if not len(row.targets):
                # Nothing to learn; TRL's pass has a gradient of zero.
                return None
            permitted = None if allowed is None else allowed(rows)[row.rows, row.places]
            found, entropy = self._of_row(model, row, permitted, compute_entropy=compute_entropy)
            empty = found.new_zeros(len(ids[rows]), completion_tokens)
            log_probabilities.append(empty.index_put((row.rows, row.places), found))
            if entropy is not None:
                entropies.append(empty.index_put((row.rows, row.places), entropy))
        return torch.cat(log_probabilities), torch.cat(entropies) if entropies else None, None

    def _of_row(
        self, model: torch.nn.Module, row: PackedRow, permitted: Tensor | None, *, compute_entropy: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Return the log-probability, and the entropy if wanted, of each target."""
        trainer = self._trainer
        named: dict[str, Any] = {
            "input_ids": row.ids.unsqueeze(0),
            "attention_mask": torch.ones(ANY_MASK, dtype=torch.bool, device=row.ids.device),
            "position_ids": row.positions.unsqueeze(0),
            "use_cache": False,
            "packed_row": row,
        }
        with trainer.accelerator.autocast():
            if self.fused and permitted is None:
                labels = row.ids.new_full((1, len(row.ids)), IGNORED_LABEL)
                labels[0, -len(row.targets) :] = row.targets
                found = model(**named, shift_labels=labels, fused_lm_head=True)
                predicted = labels != IGNORED_LABEL
                return found.log_probs[predicted], found.entropy[predicted] if compute_entropy else None
            logits = model(**named, logits_to_keep=len(row.targets)).logits[0]
            return token_scores(
                logits,
                row.targets,
                trainer.temperature,
                forbidden=None if permitted is None else ~permitted,
                compute_entropy=compute_entropy,
                learn_entropy=trainer._entropy_bonus_enabled,  # noqa: SLF001 - TRL's only way
            )
