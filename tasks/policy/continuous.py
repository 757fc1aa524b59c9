"""Engine that draws completions on a CPU as they are asked for: rows join at the next token and leave at their end.

It computes as `tasks.policy.engine` does, for rows of different prompts, lengths and choices. A prompt's first turn is
computed once as long as it is kept. What a row draws does not depend on the others.
"""

from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch

from schemas.errors import InputError
from tasks.policy.engine import Choice, DecoderStep, extended, first_turn, read_on
from tasks.policy.unpacked import unpacked

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(eq=False)
class DrawnRow:
    """A completion that is drawn."""

    prompt: tuple[int, ...]
    """Tokens."""
    choice: Choice
    """Chooses the tokens of this row alone."""
    most: int
    """Tokens of the longest completion, 1 or more."""
    drawn: list[int] = field(default_factory=list)
    """Tokens of the completion, its end included."""
    ended: bool = False
    """Whether nothing follows."""
    fault: str | None = None
    """Why it could not be drawn to its end; None where nothing is wrong."""


class ContinuousEngine:
    """A policy as it is now, ready to draw; it is used by one thread."""

    def __init__(self, policy: Any, *, rows: int, longest: int, ends: Collection[int]) -> None:
        self.model: PreTrainedModel = unpacked(policy)
        self.rows: list[DrawnRow] = []
        """Those that are drawn."""
        self._step = DecoderStep(self.model.model)
        self._cache = RowCache(self.model.config, rows, longest)
        self._turns = TurnCache()
        self._most_rows, self._longest, self._ends = rows, longest, frozenset(ends)

    @torch.inference_mode()
    def join(self, row: DrawnRow) -> None:
        """Compute a prompt and draw its completion's first token.

        Raises:
            ValueError: All places are taken, or the row could become longer than the longest.
        """
        if len(self.rows) == self._most_rows or len(row.prompt) + row.most > self._longest:
            raise ValueError("there is no room for a further row")
        turn = first_turn(row.prompt, self._ends)
        kept = self._turns.get(turn)
        self._cache.begin(kept)
        if turn and kept is None:
            read_on(self.model, self._cache, turn)
            self._turns.keep(turn, self._cache.read())
        hidden = read_on(self.model, self._cache, row.prompt[len(turn) :])
        self._choose(row, self.model.lm_head(hidden), row.prompt[-1])
        if not row.ended:
            self._cache.join()
            self.rows.append(row)

    @torch.inference_mode()
    def step(self) -> list[DrawnRow]:
        """Draw a token of each row; return the rows, of which those that ended have left."""
        rows = list(self.rows)
        if not rows:
            return rows
        positions = self._cache.begin_step()
        tokens = torch.tensor([row.drawn[-1] for row in rows])
        logits = self.model.lm_head(self._step(tokens, positions, self._cache.attend))
        for row, of_row in zip(rows, logits.split(1), strict=True):
            self._choose(row, of_row, row.drawn[-1])
        for row in rows:
            if row.ended:
                self.leave(row)
        return rows

    def leave(self, row: DrawnRow) -> None:
        """Go on without a row that is drawn."""
        place = self.rows.index(row)
        self._cache.leave(place)
        last = self.rows.pop()
        if last is not row:
            self.rows[place] = last

    def _choose(self, row: DrawnRow, logits: torch.Tensor, last: int) -> None:
        try:
            token = int(row.choice(logits, torch.tensor([[last]])))
        except InputError as error:
            # Its grammar was given up: the others go on.
            row.ended, row.fault = True, str(error)
            return
        row.drawn.append(token)
        row.ended = token in self._ends or len(row.drawn) == row.most


TURN_TOKENS: Final = 8_192
"""Most tokens of first turns that are kept for further prompts."""

Pairs = list[tuple[torch.Tensor, torch.Tensor]]
"""Keys and values of each layer, (heads, tokens, size) each."""


class RowCache:
    """Keys and values of some rows; while a row's prompt is computed it is the cache of transformers' layers."""

    is_compileable = False

    def __init__(self, config: Any, rows: int, longest: int) -> None:
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

        Queries and means are (rows, heads, size), keys and values (rows, key heads, size).
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
