"""The parts of a completion that earn rewards of their own, for blockwise advantages (BAE, 2602.10231).

- A thought (`<think>...</think>`): how concise and fluent it is. In the paper each block has an objective of its own,
  and a later block is compared with those that follow the same outcome; a thought that earned the answer's reward would
  make the answer's baseline depend on the answer. A thought without an end earns nothing, as it left no answer.
- The answer after a thought, where its task knows no finer blocks: the rollout's reward.
- extraction: each of the ten fields that the reference knows: 0 for a wrong type, 0.5 for a wrong value, 1 for the
  right one.
- churn: `reasoning`, and its answer's `risk_score` and `churn`: each the component of the reward that scores it.

What nobody scores is no block: a field that the reference does not know, a component that the spec does not have.
"""

import codecs
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from schemas.documents import ScoredRollout
from schemas.errors import InputError
from tasks.commerce.complaints import OTHER_WORDS, same_complaint
from tasks.commerce.extraction import READABLE, RISK_TOLERANCE
from tasks.commerce.json_fields import read_share
from tasks.commerce.parser import MAX_BRACKETS, MAX_CHARACTERS, MAX_COMPLETION, MAX_STARTS
from tasks.commerce.text_form import fluency, ramp, words

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

RIGHT: Final = 0.5
"""A block that earned more than this is right: a field that is, or a graded part in the upper half."""
WELL_TYPED: Final = 0.5
THINK: Final = "<think>"
END_OF_THOUGHT: Final = "</think>"
THOUGHT_LENGTHS: Final = (2_000, 800)
"""Characters of a thought that leaves no room for the answer, within some 512 tokens, and of one that leaves half."""
CHURN_COMPONENTS: Final[Mapping[str, str]] = {"risk_score": "risk", "churn": "churn", "reasoning": "reasoning"}
"""The component that scores each field of a churn answer."""

# Possessive, so that no text is gone over twice.
_KEY: Final = re.compile(r'\s*+"(\w{1,40})"\s*+:\s*+')
_PORTUGUESE_NUMBER: Final = re.compile(r"(?:-?R\$\s?)?-?\d[\d.]{0,20}(?:,\d{1,20})?(?:\s?%)?(?=\s*+[,}])", re.ASCII)
_END_OF_MEMBER: Final = re.compile(r"\s*+([,}])")
_DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True)
class Block:
    """A part of a completion with a reward of its own."""

    name: str
    """What is compared with the other rollouts' blocks of this name."""
    start: int
    """Character of the completion at which it starts."""
    end: int
    """Character behind its last one."""
    reward: float
    """What it earned, in [0, 1]."""

    @property
    def is_right(self) -> bool:
        """Whether it counts as right for what follows it."""
        return self.reward > RIGHT


def blocks_of(rollout: ScoredRollout) -> tuple[Block, ...]:
    """Find the blocks of a scored completion, in the order of its text; none overlap and no name is there twice.

    Any text is read in linear time, and none raises. Tasks without blocks, and completions that are too long to be
    answers, have none.
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
    """Return where the answer starts: 0 without a thought, the text's end where a thought has no end."""
    closed = text.rfind(END_OF_THOUGHT)
    if text.rfind(THINK) > closed:
        return len(text)
    return 0 if closed < 0 else closed + len(END_OF_THOUGHT)


def _thought(text: str, end: int) -> Block | None:
    if not end:
        return None
    # Templates of thinking models may open the thought in the prompt: the completion then starts within it.
    start = max(text.find(THINK), 0)
    if not text.endswith(END_OF_THOUGHT, 0, end):
        return Block("thought", start, end, 0.0)
    inside = text[start:end].removeprefix(THINK).removesuffix(END_OF_THOUGHT).strip()
    concise = ramp(len(inside), *THOUGHT_LENGTHS)
    return Block("thought", start, end, concise * fluency(words(inside[:MAX_CHARACTERS])))


def _scores(rollout: ScoredRollout) -> Mapping[str, Callable[[Any], float]]:
    """Return how each field of the answer that somebody scores is scored."""
    reference = rollout.reference or {}
    if rollout.task == "extraction":
        known = reference.get("fields") or {}
        return {name: _against(name, value) for name, value in known.items() if value is not None}
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
        if name == "churn_risk":
            right = abs((read_share(found) or 0.0) - wanted) <= RISK_TOLERANCE
        elif name == "main_complaint":
            right = same_complaint(found, wanted) >= OTHER_WORDS
        else:
            right = found == wanted
        return 1.0 if right else WELL_TYPED

    return score


def _fields(text: str, start: int, scores: Mapping[str, Callable[[Any], float]]) -> Iterator[Block]:
    """Find the scored fields of the first object that has any, the first of each name."""
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
    """Yield the members of an object with where each begins and ends, up to the first that cannot be read."""
    while key := _KEY.match(text, place):
        number = _PORTUGUESE_NUMBER.match(text, key.end())
        try:
            value, end = _DECODER.raw_decode(text, key.end())
        except (ValueError, RecursionError):
            if number is None:
                return
            value, end = number[0], number.end()
        if number and number.end() > end:
            # JSON would read a bare `0,8` as 0 and then find no key behind the comma.
            value, end = number[0], number.end()
        yield key[1], value, key.start(1) - 1, end
        close = _END_OF_MEMBER.match(text, end)
        if close is None or close[1] == "}":
            return
        place = close.end()


def blocks_by_token(
    tokenizer: "PreTrainedTokenizerBase", token_ids: Sequence[int], blocks: Sequence[Block]
) -> list[int]:
    """Return for each token the index of the block that it belongs to, -1 for none.

    A token that touches two blocks belongs to the first, whose end it decided. A special token belongs to none, since
    the text of a completion is decoded without them. Tokens of byte-level BPE are bytes, and a character may be spread
    over several: so the bytes are decoded one token after the other, which takes one pass. Decoding ever longer
    prefixes would take the square of the length, and tokenizing the text anew would give other tokens than the sampled.

    Args:
        tokenizer: A byte-level BPE tokenizer, whose decoding does not clean up spaces.
        token_ids: The completion's tokens, without padding or with.
        blocks: The completion's blocks, in the order of its text.

    Raises:
        InputError: The tokenizer is not byte-level.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    found = list[int]()
    decoded = current = 0
    for written in _bytes_of(tokenizer, token_ids):
        first = decoded
        decoded += len(decoder.decode(written))
        begun = bool(decoder.getstate()[0])
        # A character that is not complete yet is the token's as well.
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
    """Return the byte of each letter in which byte-level BPE writes its tokens (GPT-2's)."""
    shown = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {chr(byte): byte for byte in shown} | {chr(256 + place): byte for place, byte in enumerate(hidden)}
