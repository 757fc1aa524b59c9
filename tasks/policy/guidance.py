"""Guided decoding: a policy samples only tokens with which its answer can still become one of the task's grammar.

The grammars are those of `tasks.commerce`, and llguidance walks through them byte by byte, so that every token is
allowed that continues an answer, however the tokenizer splits it. What is sampled is the policy's own distribution,
renormalised over the allowed tokens; where the answer is whole and nothing can follow, the end of turn is the only one.

A grammar never comes to a dead end: the tokenizer has a token for every byte, or the grammar is refused.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch
from llguidance import LLMatcher
from llguidance.hf import from_tokenizer
from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask
from numpy.typing import NDArray

from schemas.errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

BYTES: Final = frozenset((0x0A, *range(0x20, 0x7F), *range(0x80, 0xC0), *range(0xC2, 0xF1), 0xF3, 0xF4))
"""Bytes of UTF-8, of control characters the line end alone; no character begins with F1 or F2 yet."""
KEPT: Final = 8
"""Tokenizers that stay compiled; one takes a second for a large vocabulary."""
STARTED: Final = 64
"""Grammars of a tokenizer that stay compiled: more than the tasks have, and a bound to what strangers may ask for."""


Packed = NDArray[np.int32]
"""Masks of tokens, a row each, 32 tokens to a number."""


class Grammars:
    """Grammars as one tokenizer's masks."""

    def __init__(self, tokenizer: "PreTrainedTokenizerBase", vocabulary: int) -> None:
        self._tokenizer = from_tokenizer(tokenizer, n_vocab=vocabulary)
        lacking = [bytes([byte]) for byte in BYTES if not self._writes(bytes([byte]))]
        if lacking:
            raise InputError(
                f"guided decoding needs a token for every byte, and this tokenizer has none for {lacking[0]!r} and "
                f"{len(lacking) - 1} others; take a byte-level tokenizer, or leave answers unguided"
            )
        self._vocabulary = vocabulary
        self._started: dict[str, LLMatcher] = {}

    def _writes(self, text: bytes) -> bool:
        tokens = self._tokenizer.tokenize_bytes(text)
        return len(tokens) == 1 and self._tokenizer.decode_bytes(tokens) == text

    def start(self, grammar: str) -> LLMatcher:
        """Return the state before an answer's first token."""
        if grammar not in self._started:
            matcher = LLMatcher(self._tokenizer, grammar, log_level=0)
            if matcher.is_error():
                raise InputError(f"the grammar of the answers cannot be read: {matcher.get_error().splitlines()[0]}")
            first = self.allowed([matcher.deep_copy()])[0]
            first[self._tokenizer.eos_tokens] = False
            if not first.any():
                raise InputError("no answer satisfies the grammar; take a condition away")
            if len(self._started) == STARTED:
                del self._started[next(iter(self._started))]
            self._started[grammar] = matcher
        return self._started[grammar].deep_copy()

    def allowed(self, matchers: Sequence[LLMatcher | None]) -> torch.Tensor:
        """Return the tokens that may follow each answer, of shape (answers, vocabulary); None allows all."""
        mask = allocate_token_bitmask(len(matchers), self._vocabulary)
        for row, matcher in enumerate(matchers):
            if matcher is not None:
                fill_next_token_bitmask(matcher, mask, row)
        return self._unpacked(mask)

    def of_answers(self, answers: Sequence[tuple[str, Sequence[int]]]) -> torch.Tensor:
        """Return the tokens that were allowed at each place of some answers, (answers, most tokens, vocabulary).

        From a token that the grammar does not allow, and behind the end, every token is allowed: so each token of any
        answer has a probability.
        """
        most = max((len(tokens) for _, tokens in answers), default=0)
        mask = allocate_token_bitmask(len(answers) * most, self._vocabulary)
        for number, (grammar, tokens) in enumerate(answers):
            if grammar:
                self._fill(mask[number * most :], self.start(grammar), tokens)
        return self._unpacked(mask).view(len(answers), most, self._vocabulary)

    @staticmethod
    def _fill(mask: Packed, matcher: LLMatcher, tokens: Sequence[int]) -> None:
        for place, token in enumerate(tokens):
            fill_next_token_bitmask(matcher, mask, place)
            if not mask[place, token // 32] >> token % 32 & 1:
                mask[place] = -1
                return
            if matcher.is_stopped() or not matcher.consume_token(token):
                return

    def writes(self, grammar: str, tokens: Sequence[int]) -> bool:
        """Return whether an answer, which its end closes, may be sampled under a grammar; an empty one allows all."""
        if not grammar:
            return True
        matcher = self.start(grammar)
        *text, end = tokens
        return end in self._tokenizer.eos_tokens and matcher.consume_tokens(text) and matcher.is_accepting()

    def _unpacked(self, mask: Packed) -> torch.Tensor:
        bits = np.unpackbits(mask.view(np.uint8), axis=1, count=self._vocabulary, bitorder="little")
        return torch.from_numpy(bits.view(np.bool_))


class GuidedLogits:
    """Logits processor of transformers for one batch: a token that a row's grammar forbids has no probability."""

    def __init__(self, grammars: Grammars, rows: Sequence[str]) -> None:
        self._grammars = grammars
        self._matchers = [grammars.start(grammar) if grammar else None for grammar in rows]
        self._begun = False

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return the scores, minus infinity where a token is forbidden."""
        if self._begun:
            for row, token in enumerate(input_ids[:, -1].tolist()):
                matcher = self._matchers[row]
                if matcher is None:
                    continue
                if matcher.is_error():
                    # Such as more grammar items than the library allows: the answer would end here without a word.
                    raise InputError(
                        f"guided decoding stopped: {matcher.get_error().splitlines()[0]}; leave it unguided"
                    )
                if matcher.is_stopped() or not matcher.consume_token(token):
                    self._matchers[row] = None
        self._begun = True
        return scores.masked_fill(~self._grammars.allowed(self._matchers).to(scores.device), float("-inf"))

    def keep(self, places: Sequence[int]) -> None:
        """Go on with these rows alone, in this order; the next `input_ids` are theirs."""
        self._matchers = [self._matchers[place] for place in places]


@lru_cache(maxsize=KEPT)
def grammars_of(tokenizer: "PreTrainedTokenizerBase", vocabulary: int) -> Grammars:
    """Return the grammars of a tokenizer, which is compiled once."""
    return Grammars(tokenizer, vocabulary)


SMALLEST: Final = torch.finfo(torch.float32).tiny


def keys_of(prompts: Sequence[Sequence[int]], *stream: int) -> list[tuple[int, ...]]:
    """Return the key of each row's noise: the stream, its prompt, and how often that prompt came before."""
    seen: Counter[int] = Counter()
    keys = []
    for prompt in prompts:
        digest = hashlib.blake2b(np.asarray(prompt, dtype="<i8").tobytes(), digest_size=16)
        number = int.from_bytes(digest.digest(), "little")
        keys.append((*stream, number, seen[number]))
        seen[number] += 1
    return keys


class Sampled:
    """Draws from the tempered softmax, of a grammar's tokens where one guides."""

    def __init__(self, keys: Sequence[Sequence[int]], *, temperature: float, guide: GuidedLogits | None = None) -> None:
        self._noise: list[Any] = [np.random.Generator(np.random.SFC64(list(key))) for key in keys]
        self._temperature = temperature
        self._guide = guide

    def __call__(self, logits: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
        """Return a token of each row."""
        if self._guide is not None:
            logits = self._guide(last, logits)
        scores = logits / self._temperature
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
