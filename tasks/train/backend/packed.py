"""Packed row of the update: each prompt of a batch once, then its completions, in one row without padding.

The row is that of transformers' own layers, under an attention of ours: a prompt's tokens see those before them; a
completion's tokens see its whole prompt and their own completion's earlier tokens, and their positions follow the
prompt's. A prompt's last token stands before each of its completions, whose first token it predicts: so every token
behind the prompts predicts one token of a completion, and only those are projected to the vocabulary.

In attention the completions of a prompt are a rectangle beside a copy of the prompt's keys, so that no completion is
compared with another. Query heads that share a key are further rows of one product.
"""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from tasks.policy.unpacked import FAMILIES, unsupported_architecture
from tasks.train.backend.cpu import IGNORED_LABEL, token_scores

ATTENTION: Final = "packed_completions"
"""Name under which transformers knows the attention: its own `sdpa`, but for a packed row."""
ANY_MASK: Final = (1, 1, 1, 1)
"""Shape of a mask that transformers takes for a finished one and hands on; a packed row needs none."""
_LOG: Final = logging.getLogger(__name__)


def takes_packed_rows(model: Any) -> bool:
    """Make a model's attention take packed rows, and return whether it does; where not, the reason is logged once."""
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    reason = unsupported_architecture(base, FAMILIES)
    if reason is None and base.config._attn_implementation not in ("sdpa", ATTENTION):  # noqa: SLF001 - no other way
        reason = f"attention: {base.config._attn_implementation}"  # noqa: SLF001
    if reason is not None:
        log_plain_update(reason)
        return False
    base.set_attn_implementation(ATTENTION)
    return True


@lru_cache
def log_plain_update(reason: str) -> None:
    """Say once that, and why, each completion is trained on with its own copy of the prompt."""
    _LOG.warning("the update computes a prompt once for each of its completions, more slowly: %s", reason)


@dataclass(frozen=True)
class _Group:
    """Completions of a prompt in a packed row."""

    prompt: int
    """Tokens of the prompt but its last one."""
    lengths: list[int]
    """Tokens of each completion."""
    device: torch.device

    @property
    def shape(self) -> tuple[int, int]:
        """Return the completions, and the tokens of the longest."""
        return len(self.lengths), max(self.lengths)

    @cached_property
    def cells(self) -> Tensor:
        """Return the cell of each token in the rectangle of the completions, (tokens,)."""
        longest = max(self.lengths)
        cells = [row * longest + place for row, length in enumerate(self.lengths) for place in range(length)]
        return torch.tensor(cells, device=self.device)

    @cached_property
    def tokens(self) -> Tensor:
        """Return the token of each cell of the rectangle; of an empty one, the place behind all tokens."""
        rows, longest = self.shape
        tokens = self.cells.new_full((rows * longest,), len(self.cells))
        tokens[self.cells] = torch.arange(len(self.cells), device=self.device)
        return tokens

    @cached_property
    def visible(self) -> Tensor:
        """Return the keys that each token of a completion sees, the prompt's before its own, (tokens, keys)."""
        longest = max(self.lengths)
        return torch.ones(longest, self.prompt + longest, dtype=torch.bool, device=self.device).tril(self.prompt)

    def as_rectangle(self, values: Tensor) -> Tensor:
        """Return values of tokens, (heads, tokens, size), by completion, (completions, heads, longest, size)."""
        heads, _, size = values.shape
        rows, longest = self.shape
        empty = values.new_zeros(rows * longest, heads, size)
        return empty.index_copy(0, self.cells, values.transpose(0, 1)).view(rows, longest, heads, size).transpose(1, 2)

    def as_tokens(self, values: Tensor) -> Tensor:
        """Return values by completion, (completions, longest, heads, size), of the tokens alone."""
        # The place behind all tokens takes what the empty cells hold.
        places = values.new_zeros(len(self.cells) + 1, *values.shape[2:])
        return places.index_copy(0, self.tokens, values.flatten(0, 1))[:-1]


Parts = tuple[tuple[int, ...], tuple[int, ...]]  # Tokens of a prompt and of its completion.


def parts_of(ids: Tensor, mask: Tensor, completion_tokens: int) -> list[Parts]:
    """Return the parts of each completion without padding, which is left of prompts and right of completions."""
    prompt, own = slice(None, -completion_tokens), slice(-completion_tokens, None)

    def kept(tokens: Sequence[int], keep: Sequence[int]) -> tuple[int, ...]:
        return tuple(token for token, one in zip(tokens, keep, strict=True) if one)

    return [
        (kept(tokens[prompt], keep[prompt]), kept(tokens[own], keep[own]))
        for tokens, keep in zip(ids.tolist(), mask.tolist(), strict=True)
    ]


class PackedRow:
    """Row of all tokens of some completions and of their prompts, and its attention."""

    def __init__(self, parts: Sequence[Parts], generations: int, device: torch.device) -> None:
        by_prompt: dict[tuple[tuple[int, ...], int], list[tuple[int, tuple[int, ...]]]] = {}
        met: Counter[tuple[int, ...]] = Counter()
        # In an order of their own: the same bytes however TRL has shuffled them.
        for row in sorted(range(len(parts)), key=parts.__getitem__):
            prompt, own = parts[row]
            if own:
                by_prompt.setdefault((prompt, met[prompt] // generations), []).append((row, own))
            met[prompt] += 1
        prompts, groups = [prompt for prompt, _ in by_prompt], list(by_prompt.values())
        completions = [each for group in groups for each in group]
        before = [(prompt, own) for prompt, group in zip(prompts, groups, strict=True) for _, own in group]

        def tensor(parts: Sequence[Sequence[int]]) -> Tensor:
            return torch.tensor([number for part in parts for number in part], dtype=torch.long, device=device)

        self.ids = tensor([*(prompt[:-1] for prompt in prompts), *([prompt[-1], *own[:-1]] for prompt, own in before)])
        self.positions = tensor(
            [
                *(range(len(prompt) - 1) for prompt in prompts),
                *(range(len(prompt) - 1, len(prompt) - 1 + len(own)) for prompt, own in before),
            ]
        )
        self.targets = tensor([own for _, own in completions])
        """Token that each token behind the prompts predicts."""
        self.rows = tensor([[row] * len(own) for row, own in completions])
        """Completion, as given, of each target."""
        self.places = tensor([range(len(own)) for _, own in completions])
        """Place of each target in its completion."""
        self._groups = [
            _Group(len(prompt) - 1, [len(own) for _, own in group], device)
            for prompt, group in zip(prompts, groups, strict=True)
        ]
        self._lengths = [*(group.prompt for group in self._groups), *(sum(group.lengths) for group in self._groups)]

    def attend(self, module: torch.nn.Module, query: Tensor, key: Tensor, value: Tensor, **named: Any) -> Tensor:
        """Return the attention of each token, (1, tokens, heads, size)."""
        count = len(self._groups)
        parts = list(zip(*(torch.split(values, self._lengths, dim=2) for values in (query, key, value)), strict=True))
        of_prompts = [
            sdpa_attention_forward(module, *part, None, is_causal=True, **named)[0] if part[0].shape[2] else None
            for part in parts[:count]
        ]
        own = [
            self._of_completions(group, prompt, part, **named)
            for group, prompt, part in zip(self._groups, parts[:count], parts[count:], strict=True)
        ]
        return torch.cat([*(part for part in of_prompts if part is not None), *own], dim=1)

    @staticmethod
    def _of_completions(
        group: _Group,
        prompt: Sequence[Tensor],
        own: Sequence[Tensor],
        *,
        scaling: float | None = None,
        dropout: float = 0.0,
        **_: Any,
    ) -> Tensor:
        query, key, value = (group.as_rectangle(values[0]) for values in own)
        rows, heads, longest, size = query.shape
        keys, values = (
            torch.cat([before.expand(rows, -1, -1, -1), after], dim=2)
            for before, after in zip(prompt[1:], (key, value), strict=True)
        )
        shared = heads // keys.shape[1]
        mean = scaled_dot_product_attention(
            query.reshape(rows, keys.shape[1], shared * longest, size),
            keys,
            values,
            attn_mask=group.visible.repeat(shared, 1),
            dropout_p=dropout,
            scale=scaling,
        )
        return group.as_tokens(mean.reshape(rows, heads, longest, size).transpose(1, 2)).unsqueeze(0)


def _attention(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    packed_row: PackedRow | None = None,
    **named: Any,
) -> tuple[Tensor, None]:
    if packed_row is None:
        mean, _ = sdpa_attention_forward(module, query, key, value, attention_mask, **named)
        return mean, None
    return packed_row.attend(module, query, key, value, **named), None


AttentionInterface.register(ATTENTION, _attention)
AttentionMaskInterface.register(ATTENTION, sdpa_mask)


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
