"""Engine that draws completions on a CPU as they are asked for: rows join at the next token and leave at their end.

It computes as `tasks.policy.engine` does, for rows of different prompts, lengths and choices. A prompt's first turn is
computed once as long as it is kept. What a row draws does not depend on the others.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from schemas.errors import InputError
from tasks.policy.decoder_step import DecoderStep
from tasks.policy.engine import Choice, first_turn, read_on
from tasks.policy.row_cache import RowCache, TurnCache
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
        """Copy the policy, of which `reason_against` has nothing to say.

        Args:
            policy: The policy.
            rows: Most completions that are drawn at once.
            longest: Tokens of the longest prompt with its completion.
            ends: Tokens that end a completion.
        """
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

        Args:
            row: A new one.

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
