"""Greedy answers of a model, and what it thinks of given answers: how two models are compared token by token."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schemas.progress import Progress

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Thought:
    """A model's view of an answer's tokens, each after those before it."""

    log_probabilities: list[float]
    gaps: list[float]
    """Log-probability of the most likely token above the second one: a smaller difference cannot change the choice."""


def draw(
    model: Any, prompts: Sequence[Sequence[int]], *, end: int, most: int, batch_size: int, progress: Progress
) -> list[list[int]]:
    """Return each prompt's most likely continuation token by token, its end included.

    Args:
        model: The model.
        prompts: Tokens of the prompts.
        end: Token that ends an answer.
        most: Longest answer, in tokens.
        batch_size: Prompts answered at once.
        progress: Called with the prompts that are answered.
    """
    import torch
    from transformers import GenerationConfig

    greedy = GenerationConfig(do_sample=False, max_new_tokens=most, pad_token_id=end, eos_token_id=end)
    answers: dict[int, list[int]] = {}
    for batch in _batches([len(prompt) for prompt in prompts], batch_size):
        ids, mask = _padded([prompts[number] for number in batch], model.device)
        with torch.inference_mode():
            drawn = model.generate(input_ids=ids, attention_mask=mask, generation_config=greedy)
        for number, tokens in zip(batch, drawn[:, ids.shape[1] :].tolist(), strict=True):
            answers[number] = tokens[: tokens.index(end) + 1] if end in tokens else tokens
        progress(len(answers), len(prompts), "greedy answers")
    return [answers[number] for number in range(len(prompts))]


def think(
    model: Any, prompts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]], *, batch_size: int
) -> list[Thought]:
    """Return a model's view of the prompts' answers.

    Args:
        model: The model.
        prompts: Tokens of the prompts.
        answers: Tokens of each prompt's answer, one or more.
        batch_size: Prompts read at once.
    """
    import torch

    thoughts: dict[int, Thought] = {}
    for batch in _batches([len(prompts[n]) + len(answers[n]) for n in range(len(prompts))], batch_size):
        ids, mask = _padded([[*prompts[number], *answers[number]] for number in batch], model.device)
        longest = max(len(answers[number]) for number in batch)
        positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
        with torch.inference_mode():
            logits = model(
                input_ids=ids, attention_mask=mask, position_ids=positions, logits_to_keep=longest + 1
            ).logits[:, :-1]
            # Padded on the left, so that the answers end together.
            likely = torch.log_softmax(logits.float(), dim=-1)
            chosen = likely.gather(-1, ids[:, -longest:].unsqueeze(-1)).squeeze(-1)
            best = likely.topk(2, dim=-1).values
        for row, number in enumerate(batch):
            count = len(answers[number])
            gaps = best[row, -count:, 0] - best[row, -count:, 1]
            thoughts[number] = Thought(chosen[row, -count:].tolist(), gaps.tolist())
    return [thoughts[number] for number in range(len(prompts))]


def _batches(lengths: Sequence[int], size: int) -> list[list[int]]:
    """Return the numbers of what is read together, of similar length."""
    by_length = sorted(range(len(lengths)), key=lambda number: (lengths[number], number))
    return [by_length[start : start + size] for start in range(0, len(by_length), size)]


def _padded(sequences: Sequence[Sequence[int]], device: Any) -> "tuple[torch.Tensor, torch.Tensor]":
    """Return sequences, padded on the left, and their mask: (sequences, tokens)."""
    import torch

    longest = max(map(len, sequences))
    ids = [[0] * (longest - len(tokens)) + list(tokens) for tokens in sequences]
    mask = [[0] * (longest - len(tokens)) + [1] * len(tokens) for tokens in sequences]
    return torch.tensor(ids, device=device), torch.tensor(mask, device=device)
