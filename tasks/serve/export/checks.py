"""Checks of an export that was read back: prompts, special tokens, shape, weights and answers are the version's own."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from schemas.errors import GateRefused
from tasks.serve.export.gguf_file import HEAD, Precision, tensors_of
from tasks.serve.export.gguf_reader import REMEDY, SHAPE
from tasks.serve.export.greedy import Thought
from tasks.serve.export.original import Original
from tasks.serve.export.rounding import tolerance
from tasks.serve.export.vocabulary import GgufVocabulary

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

OTHER_FORMAT: Final = "nothing is exported; export it with --format safetensors"
NOISE_MARGIN: Final = 1.1
"""An export may be so many times as far from the version as the rounding that its format defines."""
EXACT: Final = 1e-5
"""Root mean square difference of log-probabilities that is arithmetic alone: in float32, sums of another order."""
TIE: Final = 1e-4
"""Answers may part where the version's two best tokens are no further apart in log-probability."""


@dataclass(frozen=True)
class AnswerAgreement:
    """Answers of an export beside the version's."""

    equal: int
    tied: int
    """Answers that part where the version's two best tokens are as good as equal."""


def require_same_prompts(name: str, original: Original, texts: Sequence[str]) -> None:
    """Require that an export writes every prompt as training did.

    Raises:
        GateRefused: A prompt differs.
    """
    for number, (own, found) in enumerate(zip(original.texts, texts, strict=True), start=1):
        at = parting(own, found)
        if at is not None:
            raise GateRefused(
                f"{name} writes prompt {number} of {len(texts)} otherwise than training, from character {at} on "
                f"({found[at : at + 20]!r} for {own[at : at + 20]!r}); {OTHER_FORMAT}"
            )


def require_same_tokens(name: str, original: Original, tokenizer: "PreTrainedTokenizerBase") -> None:
    """Require that an export reads every prompt as the same tokens, and says the same with them.

    Raises:
        GateRefused: A token differs.
    """
    for number, text in enumerate(original.texts, start=1):
        own = original.tokenizer.encode(text, add_special_tokens=False)
        found = tokenizer.encode(text, add_special_tokens=False)
        place = parting(own, found)
        if place is not None:
            raise GateRefused(
                f"{name} reads prompt {number} of {len(original.texts)} as other tokens, from token {place} on "
                f"({found[place : place + 4]} for {own[place : place + 4]}); {OTHER_FORMAT}"
            )
    for number, answer in enumerate(original.answers, start=1):
        # SentencePiece's tokenizers cut a blank where a text begins, and llama.cpp does not.
        if original.tokenizer.decode(answer).lstrip(" ") != tokenizer.decode(answer).lstrip(" "):
            raise GateRefused(f"{name} says answer {number} with other words of the same tokens; {OTHER_FORMAT}")


def has_same_tokens(original: Original, tokenizer: "PreTrainedTokenizerBase") -> bool:
    """Return whether a tokenizer reads every prompt as the same tokens."""
    own, other = (
        [each.encode(text, add_special_tokens=False) for text in original.texts]
        for each in (original.tokenizer, tokenizer)
    )
    return own == other


def require_same_vocabulary(name: str, own: GgufVocabulary, found: GgufVocabulary) -> None:
    """Require the version's special tokens, tokens, types and merges.

    Raises:
        GateRefused: One differs.
    """
    for what, of_own, of_found in (
        ("EOS token", own.end, found.end),
        ("BOS token", own.begin, found.begin),
        ("padding token", own.pad, found.pad),
        ("unknown token", own.unknown, found.unknown),
        ("kind of tokenizer", own.model, found.model),
        ("pre-tokenizer", own.pre, found.pre),
        ("blank before texts", own.adds_blank, found.adds_blank),
    ):
        if of_own != of_found:
            raise GateRefused(f"{name} has {of_found} as its {what}, and the version {of_own}; {REMEDY}")
    if found.adds_begin != own.adds_begin:
        raise GateRefused(f"{name} has readers write a BOS token before each prompt, and training wrote none; {REMEDY}")
    sequences: tuple[tuple[str, Sequence[Any], Sequence[Any]], ...] = (
        ("token", own.tokens, found.tokens),
        ("type of token", own.types, found.types),
        ("merge", own.merges, found.merges),
        ("score", own.scores, found.scores),
    )
    for what, mine, its in sequences:
        place = parting(mine, its)
        if place is not None:
            raise GateRefused(f"{name} has another {what} at {place} than the version's tokenizer; {REMEDY}")


def parting(own: Sequence[Any], found: Sequence[Any]) -> int | None:
    """Return the first place where two sequences differ, or where the shorter one ends; None where they are equal."""
    place = next((number for number, (mine, its) in enumerate(zip(own, found, strict=False)) if mine != its), None)
    return min(len(own), len(found)) if place is None and len(own) != len(found) else place


def require_same_shape(name: str, own: Any, found: Any) -> None:
    """Require that two configurations compute the same.

    Raises:
        GateRefused: A field differs.
    """
    of_own, of_found = ({field: getattr(config, field, None) for field in SHAPE} for config in (own, found))
    of_own["rope_theta"], of_found["rope_theta"] = (config.rope_parameters["rope_theta"] for config in (own, found))
    for field, value in of_own.items():
        other = of_found[field]
        # A GGUF file's numbers are float32.
        near = isinstance(value, float) and isinstance(other, float) and abs(value - other) <= 1e-6 * abs(value)
        if value != other and not near:
            raise GateRefused(f"{name} has {field} {other}, and the version {value}; {REMEDY}")


def require_same_weights(name: str, source: Path, model: Any, precision: Precision | None) -> int:
    """Require that every number is the version's own, but for what the format rounds; return how many tensors were.

    Args:
        name: Name of the export.
        source: Folder of the version's weights.
        model: The export, as it was read back.
        precision: The format's type of matrices; None where it keeps the model's own.

    Raises:
        GateRefused: A tensor is missing, of another shape or with other numbers.
    """
    found = {tensor: weights.detach().cpu() for tensor, weights in model.named_parameters()}
    tied = model.config.tie_word_embeddings
    compared = set()
    for tensor, weights in tensors_of(source):
        if tensor == HEAD and tied:
            continue
        own = weights.float()
        if tensor not in found or found[tensor].shape != own.shape:
            raise GateRefused(f"{name} has no {tensor} of the version's shape {tuple(own.shape)}; {REMEDY}")
        over = (found[tensor] - own).abs() - tolerance(own, precision)
        # Not `over > 0`: NaN must not pass.
        if not bool((over <= 0).all()):
            raise GateRefused(
                f"{name} has other numbers in {tensor} than the version: {int((over <= 0).logical_not().sum())} of "
                f"{own.numel()} by more than {precision or 'its type'} rounds; {REMEDY}"
            )
        compared.add(tensor)
    if extra := sorted(set(found) - compared):
        raise GateRefused(f"{name} has a tensor {extra[0]}, which the version has not; {REMEDY}")
    return len(compared)


def compare_answers(original: Original, answers: Sequence[Sequence[int]]) -> AnswerAgreement:
    """Count the answers that are equal, and those that part where the version itself has no choice."""
    equal = tied = 0
    for own, found, thought in zip(original.answers, answers, original.thoughts, strict=True):
        place = parting(own, found)
        if place is None:
            equal += 1
        elif place < len(own) and thought.gaps[place] <= TIE:
            tied += 1
    return AnswerAgreement(equal, tied)


def require_same_answers(name: str, agreement: AnswerAgreement, answers: int) -> None:
    """Require that all answers are equal, but those that part at a tie.

    Raises:
        GateRefused: Another one differs.
    """
    if agreement.equal + agreement.tied < answers:
        other = answers - agreement.equal - agreement.tied
        raise GateRefused(f"{name} answers {other} of {answers} test prompts with other words; {REMEDY}")


def difference(own: Sequence[Thought], found: Sequence[Thought]) -> float:
    """Return the root mean square difference of the answers' tokens in log-probability."""
    pairs = [
        pair
        for mine, its in zip(own, found, strict=True)
        for pair in zip(mine.log_probabilities, its.log_probabilities, strict=True)
    ]
    return sqrt(sum((mine - its) ** 2 for mine, its in pairs) / len(pairs))


def require_within_noise(name: str, apart: float, noise: float) -> None:
    """Require that an export is no further from the version than its format's rounding, which was measured.

    Raises:
        GateRefused: It is.
    """
    limit = max(NOISE_MARGIN * noise, EXACT)
    # Not `apart > limit`: NaN must not pass.
    if not apart <= limit:
        raise GateRefused(
            f"{name} is {apart:.1e} nats a token from the version in the log-probabilities of its answers, and its "
            f"format's rounding makes {noise:.1e}; {REMEDY}"
        )
