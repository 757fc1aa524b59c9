"""Completion blocks with rewards of their own, for blockwise advantages (BAE, 2602.10231).

- A thought (`<think>...</think>`): how concise and fluent it is. In the paper each block has its own objective, and a
  later block is compared with those that follow the same outcome; if a thought earned the answer's reward, the answer's
  baseline would depend on the answer. An unclosed thought earns nothing, since it left no answer.
- The answer after a thought, where its task has no finer blocks: the rollout's reward.
- extraction: each of the ten fields that the reference knows: 0 for a wrong type, 0.5 for a wrong value, 1 for the
  right one; a complaint between 0.5 and 1 as far as it agrees, as in the reward.
- churn: `risk_score`, `churn` and `reasons`: each the component of the reward that scores it.

Unscored text is no block: a field that the reference does not know, a component that the spec does not have.
"""

import codecs
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import Tensor

from schemas.documents import ScoredRollout
from schemas.errors import InputError
from tasks.commerce.extraction.quotation import COMPLAINT, review_of
from tasks.commerce.extraction.scorer import READABLE, RISK_TOLERANCE, complaint_agreement
from tasks.commerce.text.json_fields import read_share
from tasks.commerce.text.parser import MAX_BRACKETS, MAX_CHARACTERS, MAX_COMPLETION, MAX_STARTS
from tasks.commerce.text.text_form import fluency, ramp, words
from tasks.policy.control_tokens import END_OF_THOUGHT, THINK
from tasks.train.methods.method import Advantages, Method, ScoredBatch

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

RIGHT: Final = 0.5
"""A block that earned more than this is right: a correct field, some of the complaint, or a part's upper half."""
WELL_TYPED: Final = 0.5
THOUGHT_LENGTHS: Final = (2_000, 800)
"""Characters of a thought that earns nothing, since it leaves no room for the answer within some 512 tokens, and of one
that leaves half of the room and counts as concise."""
CHURN_COMPONENTS: Final[Mapping[str, str]] = {"risk_score": "risk", "churn": "churn", "reasons": "reasons"}
"""The component that scores each field of a churn answer."""

# Possessive quantifiers, so that no text is scanned twice.
_KEY: Final = re.compile(r'\s*+"(\w{1,40})"\s*+:\s*+')
_PORTUGUESE_NUMBER: Final = re.compile(r"(?:-?R\$\s?)?-?\d[\d.]{0,20}(?:,\d{1,20})?(?:\s?%)?(?=\s*+[,}])", re.ASCII)
_END_OF_MEMBER: Final = re.compile(r"\s*+([,}])")
_DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True)
class Block:
    """Span of a completion with its own reward."""

    name: str
    """Compared with the other rollouts' blocks of the same name."""
    start: int
    """Start index in the completion, in characters."""
    end: int
    """End index, exclusive."""
    reward: float
    """Reward in [0, 1]."""

    @property
    def is_right(self) -> bool:
        """Return whether it counts as right for the blocks after it."""
        return self.reward > RIGHT


def blocks_of(rollout: ScoredRollout) -> tuple[Block, ...]:
    """Find the blocks of a scored completion, in text order, without overlaps or duplicate names.

    Reads any text in linear time and never raises. Tasks without blocks, and completions too long to be answers, have
    none.
    """
    text = rollout.completion
    if len(text) > MAX_COMPLETION:
        return ()
    start = _end_of_thought(text)
    thought = _thought(text, start)
    if thought and start == len(text):
        return (thought,)
    scores = _scores(rollout)
    answer = tuple(_fields(text, start, scores)) if scores else ()
    if thought is None:
        return answer
    return (thought, *(answer or (Block("answer", start, len(text), rollout.reward),)))


def _end_of_thought(text: str) -> int:
    """Return the index where the answer starts: 0 without a thought, the text's end for an unclosed one."""
    closed = text.rfind(END_OF_THOUGHT)
    if text.rfind(THINK) > closed:
        return len(text)
    return 0 if closed < 0 else closed + len(END_OF_THOUGHT)


def _thought(text: str, end: int) -> Block | None:
    if not end:
        return None
    # Templates of thinking models may open the thought in the prompt: the completion then starts inside it.
    start = max(text.find(THINK), 0)
    if not text.endswith(END_OF_THOUGHT, 0, end):
        return Block("thought", start, end, 0.0)
    inside = text[start:end].removeprefix(THINK).removesuffix(END_OF_THOUGHT).strip()
    concise = ramp(len(inside), *THOUGHT_LENGTHS)
    return Block("thought", start, end, concise * fluency(words(inside[:MAX_CHARACTERS])))


def _scores(rollout: ScoredRollout) -> Mapping[str, Callable[[Any], float]]:
    """Return the scoring function of each scored answer field."""
    reference = rollout.reference or {}
    if rollout.task == "extraction":
        known = reference.get("fields") or {}
        scores = {name: _against(name, value) for name, value in known.items() if value is not None}
        if COMPLAINT in scores:
            scores[COMPLAINT] = _quoted(reference, review_of(rollout.prompt))
        return scores
    if rollout.task == "churn" and reference.get("churn") is not None:
        return {
            field: _constant(rollout.components[component])
            for field, component in CHURN_COMPONENTS.items()
            if component in rollout.components
        }
    return {}


def _constant(reward: float) -> Callable[[Any], float]:
    return lambda _: reward


def _against(name: str, wanted: Any) -> Callable[[Any], float]:
    def score(found: Any) -> float:
        if not READABLE[name](found):
            return 0.0
        by_distance = name == "churn_risk" and abs((read_share(found) or 0.0) - wanted) <= RISK_TOLERANCE
        return 1.0 if by_distance or found == wanted else WELL_TYPED

    return score


def _quoted(reference: Mapping[str, Any], review: str) -> Callable[[Any], float]:
    def score(found: Any) -> float:
        if not isinstance(found, str):
            return 0.0
        return WELL_TYPED + (1 - WELL_TYPED) * (complaint_agreement(found, reference, review) or 0.0)

    return score


def _fields(text: str, start: int, scores: Mapping[str, Callable[[Any], float]]) -> Iterator[Block]:
    """Yield the scored fields of the first object that has any; the first of each name."""
    answer = text[start:]
    brackets = answer.count("{") + answer.count("[")
    if len(answer.strip()) > MAX_CHARACTERS or brackets > MAX_BRACKETS:
        return
    opening = start - 1
    for _ in range(MAX_STARTS):
        opening = text.find("{", opening + 1)
        if opening < 0:
            return
        found: dict[str, Block] = {}
        for name, value, begin, end in _members(text, opening + 1):
            if name in scores and name not in found:
                found[name] = Block(name, begin, end, scores[name](value))
        if found:
            yield from found.values()
            return


def _members(text: str, place: int) -> Iterator[tuple[str, Any, int, int]]:
    """Yield an object's members with their start and end, up to the first that cannot be parsed."""
    while key := _KEY.match(text, place):
        number = _PORTUGUESE_NUMBER.match(text, key.end())
        try:
            value, end = _DECODER.raw_decode(text, key.end())
        except (ValueError, RecursionError):
            if number is None:
                return
            value, end = number[0], number.end()
        if number and number.end() > end:
            # JSON would read a bare `0,8` as 0 and then find no key after the comma.
            value, end = number[0], number.end()
        yield key[1], value, key.start(1) - 1, end
        close = _END_OF_MEMBER.match(text, end)
        if close is None or close[1] == "}":
            return
        place = close.end()


def blocks_by_token(
    tokenizer: "PreTrainedTokenizerBase", token_ids: Sequence[int], blocks: Sequence[Block]
) -> list[int]:
    """Return the index of each token's block, -1 for none.

    A token that touches two blocks belongs to the first, whose end it decided. A special token belongs to none, since
    completions are decoded without them. Tokens of byte-level BPE are bytes, and one character may span several, so
    bytes are decoded token by token in one pass: decoding growing prefixes would be quadratic, and tokenizing the text
    again would give other tokens than the sampled ones.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    found = list[int]()
    decoded = current = 0
    for written in _bytes_of(tokenizer, token_ids):
        first = decoded
        decoded += len(decoder.decode(written))
        begun = bool(decoder.getstate()[0])
        # An incomplete character belongs to the token too.
        end = max(decoded + begun, first + 1) if written else first
        while current < len(blocks) and blocks[current].end <= first:
            current += 1
        touches = current < len(blocks) and blocks[current].start < end and written != b""
        found.append(current if touches else -1)
    return found


def _bytes_of(tokenizer: "PreTrainedTokenizerBase", token_ids: Sequence[int]) -> Iterator[bytes]:
    added, alphabet = tokenizer.added_tokens_decoder, _byte_alphabet()
    for token_id, token in zip(token_ids, tokenizer.convert_ids_to_tokens(list(token_ids)), strict=True):
        if token_id in added:
            yield b"" if added[token_id].special else added[token_id].content.encode()
        else:
            try:
                yield bytes(map(alphabet.__getitem__, token))
            except KeyError:
                raise InputError(
                    f"train.block_advantages needs a byte-level tokenizer, and {type(tokenizer).__name__} is none; set "
                    "train.block_advantages=false, or train a model of Qwen's family"
                ) from None


@cache
def _byte_alphabet() -> Mapping[str, int]:
    """Return the byte of each letter of GPT-2's byte-level BPE alphabet."""
    shown = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {chr(byte): byte for byte in shown} | {chr(256 + place): byte for place, byte in enumerate(hidden)}


def blockwise_advantages(
    blocks: Sequence[Sequence[Block]], block_of_token: Tensor, advantages: Tensor, generations: int
) -> Tensor:
    """Give each token the advantage of its block: Blockwise Advantage Estimation (2602.10231).

    A block's advantage is its reward minus the mean reward of the same block over the group's rollouts whose preceding
    text had the same outcome: all blocks right so far, or not. The paper also uses two outcomes; more would leave
    groups of 8 to 16 too few rollouts to compare. If no other rollout shares the outcome, the mean is over the whole
    group. A missing block counts as a reward of 0 after all present blocks, so that writing the field at all has value.

    Advantages of blocks are differences of rewards, in (-1, 1), not divided by a deviation.
    """
    if len(advantages) % generations:
        raise ValueError(f"{len(advantages)} rollouts are no whole groups of {generations}")
    if not len(blocks) == len(block_of_token) == len(advantages):
        raise ValueError(f"blocks of {len(blocks)} and tokens of {len(block_of_token)} for {len(advantages)} rollouts")
    # The extra first column is for tokens outside blocks, whose index is -1.
    by_block = advantages.new_zeros(len(blocks), 1 + max(map(len, blocks), default=0))
    by_block[:, 0] = advantages
    for start in range(0, len(blocks), generations):
        for row, found in enumerate(_of_group(blocks[start : start + generations]), start):
            by_block[row, 1 : 1 + len(found)] = advantages.new_tensor(found)
    return by_block.gather(1, block_of_token + 1)


def _of_group(group: Sequence[Sequence[Block]]) -> list[list[float]]:
    """Return the block advantages of each rollout."""
    advantages: list[list[float]] = [[] for _ in group]
    earned = [{block.name: block.reward for block in rollout} for rollout in group]
    right_before = [_right_before(rollout) for rollout in group]
    for row, rollout in enumerate(group):
        for block in rollout:
            # The last entry is the outcome of the whole text, which a missing block would follow.
            outcomes = [before.get(block.name, before[None]) for before in right_before]
            rewards = [blocks.get(block.name, 0.0) for blocks in earned]
            alike = [reward for reward, outcome in zip(rewards, outcomes, strict=True) if outcome == outcomes[row]]
            compared = alike if len(alike) > 1 else rewards
            advantages[row].append(block.reward - math.fsum(compared) / len(compared))
    return advantages


def _right_before(rollout: Sequence[Block]) -> dict[str | None, bool]:
    """Return, for each block, whether all blocks before it were right; under None, whether all were."""
    right = True
    found: dict[str | None, bool] = {}
    for block in rollout:
        found[block.name] = right
        right = right and block.is_right
    found[None] = right
    return found


def _advantages(batch: ScoredBatch, advantages: Advantages) -> Advantages:
    blocks = [blocks_of(rollout) for rollout in batch.scored]
    values = advantages.values
    of_tokens = torch.full(batch.completion_mask.shape, -1, dtype=torch.long, device=values.device)
    for row, (ids, found) in enumerate(zip(batch.completion_ids, blocks, strict=True)):
        of_tokens[row, : len(ids)] = of_tokens.new_tensor(blocks_by_token(batch.tokenizer, ids, found))
    return replace(advantages, values=blockwise_advantages(blocks, of_tokens, values, batch.recipe.generations))


METHOD: Final = Method(order=40, is_on=lambda recipe: recipe.block_advantages, advantages=_advantages)
