"""Random choice of tokens that depends on a completion alone, and not on the batch in which it is drawn.

Each completion has noise of its own, by a key such as (seed, step, prompt, sample), and takes from it a vector for each
position. The token with the largest logit plus Gumbel noise is a draw from the softmax (1611.00712, section 3.1).
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import torch
from transformers import LogitsProcessorList, TopKLogitsWarper, TopPLogitsWarper

from tasks.policy.guidance import GuidedLogits

SMALLEST: Final = torch.finfo(torch.float32).tiny


def keys_of(prompts: Sequence[Sequence[int]], *stream: int) -> list[tuple[int, ...]]:
    """Return the key of each row's noise: the stream, its prompt, and how often that prompt came before.

    Args:
        prompts: Tokens of each row's prompt.
        stream: Numbers that no other draw has, 0 or more, such as a seed and a step.
    """
    seen: Counter[int] = Counter()
    keys = []
    for prompt in prompts:
        digest = hashlib.blake2b(np.asarray(prompt, dtype="<i8").tobytes(), digest_size=16)
        number = int.from_bytes(digest.digest(), "little")
        keys.append((*stream, number, seen[number]))
        seen[number] += 1
    return keys


class Sampled:
    """Draws from the tempered softmax, of the most likely tokens if so configured, and of those of a grammar."""

    def __init__(
        self,
        keys: Sequence[Sequence[int]],
        *,
        temperature: float,
        top_k: int = 0,
        top_p: float = 1.0,
        guide: GuidedLogits | None = None,
    ) -> None:
        """Begin some completions.

        Args:
            keys: Decides each one's noise.
            temperature: Sampling temperature, above 0.
            top_k: Most likely tokens that are sampled from; 0 means all.
            top_p: Probability mass that tokens are sampled from, above 0.
            guide: Grammars of the completions.
        """
        self._noise: list[Any] = [np.random.Generator(np.random.SFC64(list(key))) for key in keys]
        self._temperature = temperature
        self._guide = guide
        self._likely = LogitsProcessorList()
        if top_k:
            self._likely.append(TopKLogitsWarper(top_k))
        if top_p < 1:
            self._likely.append(TopPLogitsWarper(top_p))

    def __call__(self, logits: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
        """Return a token of each row."""
        if self._guide is not None:
            logits = self._guide(last, logits)
        scores = self._likely(last, logits / self._temperature)
        drawn = np.empty(scores.shape)
        for noise, row in zip(self._noise, drawn, strict=True):
            noise.standard_exponential(out=row)
        # The logarithm of an exponential variable is the negative of a Gumbel one.
        noisy: torch.Tensor = scores - torch.from_numpy(drawn).float().clamp_(min=SMALLEST).log_()
        return noisy.argmax(dim=-1)

    def keep(self, places: Sequence[int]) -> None:
        """Go on with these rows alone, in this order."""
        self._noise = [self._noise[place] for place in places]
        if self._guide is not None:
            self._guide.keep(places)
