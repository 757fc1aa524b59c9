"""Training of the stand-in from random weights: Muon for the matrices of the layers, AdamW for the rest.

The loss is the mean negative log-likelihood of the answers' tokens and, with less weight, of the prompts'; the system
prompt, the same in all prompts of a task, is only read. Muon (Jordan and others, 2024) takes some half of AdamW's
steps. Products are computed in bfloat16 on CPUs with instructions for it, which are several times as fast by them;
others emulate it, at a thirtieth of the speed. Weights and optimizers stay in float32.
"""

import random
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

import torch
from torch import Tensor

from schemas.progress import Progress, silent
from tasks.policy.generate import Message, as_messages
from tasks.stand_in.lessons import Lesson, Recipe
from tasks.stand_in.model import TURN_END

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Rate = Callable[[int], float]
"""Returns the share of the peak rate at a step."""

BATCHES_AT_ONCE: Final = 8
"""Batches whose lessons are sorted by length together, so that little of a batch is padding."""
CONSTANT_SHARE: Final = 0.4
"""Share of the steps at the peak rate, before it falls to `LAST_RATE`."""
LAST_RATE: Final = 0.02
MAX_GRADIENT_NORM: Final = 1.0
DEMONSTRATED_RISE: Final = 10
"""Steps in which the rate of imperfect demonstrations rises: they are few, and the weights are trained already."""
HAS_BFLOAT16: Final[bool] = torch.backends.cpu.get_cpu_capability() != "AVX2"
"""Whether this CPU may have instructions for products in bfloat16; AVX2 has none."""


Encoded = tuple[list[int], list[float]]
"""A lesson's tokens, and the weight of each in the loss."""


class LessonBatch(NamedTuple):
    """Lessons of similar length."""

    tokens: Tensor
    """Of shape (lessons, tokens), padded at the end."""
    weights: Tensor
    """Of each token in the loss, of the same shape; 0 of padding."""


def train(
    model: "PreTrainedModel",
    tokenizer: "PreTrainedTokenizerBase",
    taught: Iterable[Lesson],
    recipe: Recipe,
    progress: Progress = silent,
) -> list[float]:
    """Train the float32 model in place on the lessons in their order; return the loss of each step."""
    batches = _batches(taught, tokenizer, recipe)
    total = recipe.steps + recipe.demonstrated_steps
    losses: list[float] = []

    def learn(steps: int, share: Rate) -> None:
        for loss in _steps(model, islice(batches, steps), recipe, share):
            losses.append(loss)
            progress(len(losses), total, f"stand-in: loss {loss:.3f}")

    model.train()
    learn(recipe.steps, lambda step: rate(step, recipe))
    learn(recipe.demonstrated_steps, lambda step: demonstrated_rate(step, recipe))
    return losses


def _steps(model: "PreTrainedModel", batches: Iterable[LessonBatch], recipe: Recipe, rate: Rate) -> Iterator[float]:
    """Train on the batches by new optimizers, and yield the loss of each."""
    matrices = [
        weight
        for name, weight in model.named_parameters()
        if weight.ndim == 2 and not name.endswith("embed_tokens.weight")
    ]
    chosen = {id(weight) for weight in matrices}
    others = [weight for weight in model.parameters() if id(weight) not in chosen]
    optimizers = (
        torch.optim.Muon(matrices, lr=recipe.matrix_rate, weight_decay=0.01),
        torch.optim.AdamW(others, lr=recipe.other_rate, betas=(0.9, 0.95), weight_decay=0.0),
    )
    schedules = [torch.optim.lr_scheduler.LambdaLR(each, rate) for each in optimizers]
    for batch in batches:
        loss = _loss(model, batch)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_GRADIENT_NORM)
        for optimizer, schedule in zip(optimizers, schedules, strict=True):
            optimizer.step()
            schedule.step()
        model.zero_grad(set_to_none=True)
        yield loss.item()


def rate(step: int, recipe: Recipe) -> float:
    """Return the share of the peak rate for right answers: it rises, stays, and falls linearly to `LAST_RATE`."""
    rising = min(1.0, (step + 1) / recipe.warmup_steps)
    done = step / recipe.steps
    falling = max(0.0, (done - CONSTANT_SHARE) / (1 - CONSTANT_SHARE))
    return rising * (1 - (1 - LAST_RATE) * falling)


def demonstrated_rate(step: int, recipe: Recipe) -> float:
    """Return the share of the peak rate for imperfect demonstrations: it rises and falls linearly."""
    rising = min(1.0, (step + 1) / DEMONSTRATED_RISE)
    return rising * recipe.demonstrated_rate * (1 - (1 - LAST_RATE) * step / max(1, recipe.demonstrated_steps))


def _loss(model: "PreTrainedModel", batch: LessonBatch) -> Tensor:
    """Return the weighted mean loss; only tokens with a weight are projected to the vocabulary."""
    weights = batch.weights[:, 1:]
    counts = weights > 0
    with torch.autocast("cpu", torch.bfloat16, enabled=HAS_BFLOAT16):
        states = model.model(input_ids=batch.tokens).last_hidden_state[:, :-1][counts]
        logits = model.lm_head(states)
    losses = torch.nn.functional.cross_entropy(logits.float(), batch.tokens[:, 1:][counts], reduction="none")
    return (losses * weights[counts]).sum() / weights.sum()


def _batches(taught: Iterable[Lesson], tokenizer: "PreTrainedTokenizerBase", recipe: Recipe) -> Iterator[LessonBatch]:
    encode = _encoder(tokenizer, recipe.prompt_weight)
    generator = random.Random(f"stand-in-{recipe.seed}:batches")
    lessons = iter(taught)
    while read := [encode(lesson) for lesson in islice(lessons, BATCHES_AT_ONCE * recipe.batch_size)]:
        read.sort(key=lambda each: len(each[0]))
        batches = [read[first : first + recipe.batch_size] for first in range(0, len(read), recipe.batch_size)]
        generator.shuffle(batches)
        yield from (_padded(batch, tokenizer.pad_token_id) for batch in batches)


def _encoder(tokenizer: "PreTrainedTokenizerBase", prompt_weight: float) -> Callable[[Lesson], Encoded]:
    """Return what renders a lesson as the chat template does, and weighs its tokens."""

    def tokens(text: str) -> list[int]:
        found: list[int] = tokenizer.encode(text, add_special_tokens=False)
        return found

    def rendered(messages: list[Message], *, asks: bool) -> str:
        return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=asks))

    @cache
    def unread(system: str) -> int:
        return len(tokens(rendered(as_messages(system, "")[:1], asks=False)))

    def encode(lesson: Lesson) -> Encoded:
        asked = tokens(rendered(as_messages(lesson.system, lesson.prompt), asks=True))
        answer, system = tokens(lesson.answer + TURN_END), unread(lesson.system)
        return asked + answer, [0.0] * system + [prompt_weight] * (len(asked) - system) + [1.0] * len(answer)

    return encode


def _padded(batch: list[Encoded], pad: int) -> LessonBatch:
    longest = max(len(numbers) for numbers, _ in batch)
    tokens = torch.full((len(batch), longest), pad)
    weights = torch.zeros(len(batch), longest)
    for row, (numbers, each) in enumerate(batch):
        tokens[row, : len(numbers)] = torch.tensor(numbers)
        weights[row, : len(each)] = torch.tensor(each)
    return LessonBatch(tokens, weights)
