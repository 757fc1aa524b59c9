"""Keys and values of rows of any length that come and go, allocated once.

A row is a prompt and what was drawn after it, side by side. Memory of a place is taken when it is first written, and is
used again by later rows. The last row fills the gap of one that leaves.
"""

from collections import OrderedDict
from typing import Any, Final

import numpy as np
import torch

from tasks.policy.engine import extended

TURN_TOKENS: Final = 8_192
"""Most tokens of first turns that are kept for further prompts."""

Pairs = list[tuple[torch.Tensor, torch.Tensor]]
"""Keys and values of each layer, (heads, tokens, size) each."""


class RowCache:
    """Keys and values of some rows; while a row's prompt is computed it is the cache of transformers' layers."""

    is_compileable = False

    def __init__(self, config: Any, rows: int, longest: int) -> None:
        """Reserve all.

        Args:
            config: The model's.
            rows: Most rows at once.
            longest: Tokens of the longest row.
        """
        heads = config.num_key_value_heads
        size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        # Zeros of numpy are pages that the system gives when they are written, and that read as zeros before: what
        # stands behind a short row has no weight, but must be a number.
        self._kept: Pairs = [
            (_reserved(rows, heads, longest, size), _reserved(rows, heads, longest, size))
            for _ in range(config.num_hidden_layers)
        ]
        self.lengths: list[int] = []
        """Tokens of each row that are kept."""
        self.length = 0
        """Tokens that are kept of the further row whose prompt is computed."""

    def begin(self, turn: Pairs | None) -> None:
        """Begin a further row, with the tokens of a turn if one is given."""
        self.length = turn[0][0].shape[1] if turn else 0
        for pair, source in zip(self._kept, turn or (), strict=False):
            for kept, values in zip(pair, source, strict=True):
                kept[len(self.lengths), :, : self.length] = values

    def read(self) -> Pairs:
        """Return a copy of what is kept of the row that was begun."""
        row = len(self.lengths)
        return [
            (keys[row, :, : self.length].clone(), values[row, :, : self.length].clone()) for keys, values in self._kept
        ]

    def join(self) -> None:
        """Let the row that was begun take part in the next steps."""
        self.lengths.append(self.length)

    def leave(self, row: int) -> None:
        """Go on without a row, whose place the last one takes."""
        length = self.lengths.pop()
        last = len(self.lengths)
        if row != last:
            self.lengths[row] = length
            for pair in self._kept:
                for kept in pair:
                    kept[row, :, :length] = kept[last, :, :length]

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer: int, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Keep a layer's new keys and values of a prompt, (1, heads, tokens, size), and return all of the prompt."""
        return extended(self._kept[layer], len(self.lengths), self.length, keys, values)

    def begin_step(self) -> torch.Tensor:
        """Make room for a token of each row, and return the tokens' positions, (rows,)."""
        positions = torch.tensor(self.lengths)
        self._rows, self._positions = torch.arange(len(positions)), positions
        self.lengths = [length + 1 for length in self.lengths]
        behind = torch.arange(max(self.lengths)) > positions[:, None]
        self._mask = torch.where(behind, float("-inf"), 0.0)[:, None, None]
        return positions

    def attend(
        self, layer: int, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scaling: float
    ) -> torch.Tensor:
        """Keep a layer's keys and values of a new token of each row, and return the means of its attention.

        Args:
            layer: Number of the layer.
            queries: Of the new tokens, (rows, heads, size).
            keys: Of the new tokens, (rows, key heads, size).
            values: As the keys.
            scaling: Of the products of queries and keys.

        Returns:
            (rows, heads, size)
        """
        rows, heads, size = queries.shape
        for kept, new in zip(self._kept[layer], (keys, values), strict=True):
            kept[self._rows, :, self._positions] = new
        own_keys, own_values = (kept[:rows, :, : self._mask.shape[-1]] for kept in self._kept[layer])
        # Query heads that share a key are further rows of one product.
        asked = queries.view(rows, own_keys.shape[1], -1, size) * scaling
        weights = (asked @ own_keys.mT + self._mask).softmax(dim=-1)
        return (weights @ own_values).view(rows, heads, size)


class TurnCache:
    """Keys and values of prompts' first turns, of which the one not asked for the longest is given up."""

    def __init__(self, most: int = TURN_TOKENS) -> None:
        """Begin with none.

        Args:
            most: Most tokens of all turns together.
        """
        self._most = most
        self._kept: OrderedDict[tuple[int, ...], Pairs] = OrderedDict()

    def get(self, turn: tuple[int, ...]) -> Pairs | None:
        """Return what is kept of a turn; None where nothing is."""
        if turn not in self._kept:
            return None
        self._kept.move_to_end(turn)
        return self._kept[turn]

    def keep(self, turn: tuple[int, ...], pairs: Pairs) -> None:
        """Keep a turn, as long as all have room."""
        self._kept[turn] = pairs
        while sum(map(len, self._kept)) > self._most:
            self._kept.popitem(last=False)


def _reserved(*shape: int) -> torch.Tensor:
    return torch.from_numpy(np.zeros(shape, dtype=np.float32))
