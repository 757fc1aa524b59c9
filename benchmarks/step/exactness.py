"""Draws of the engine beside forward passes and other batches, and gradients of packed steps beside plain ones."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import torch

from benchmarks.training.arms import policy_trainer
from benchmarks.training.watched import SEED, Inputs
from schemas.config.train import TrainConfig
from schemas.errors import InputError
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.policy.engine import Engine
from tasks.policy.generate import as_messages
from tasks.policy.guidance import Sampled, keys_of
from tasks.train.backend.trainable import lora_config

MOST: Final = 24
"""Tokens of the longest completion."""
PROMPTS: Final = 50
"""Prompts, the shortest ones."""
AT_ONCE: Final = (2, 48)
"""Fewest and most rows of a random batch."""
LARGEST: Final = 0.02
"""Largest weight of the part of the adapter that begins at zero."""


def moved_policy(recipe: TrainConfig, inputs: Inputs) -> Any:
    """Return the base with an adapter that does something, as after some training."""
    from peft import get_peft_model

    torch.manual_seed(SEED)
    policy = get_peft_model(inputs.model(), lora_config(recipe.lora)).eval()
    for name, weight in policy.named_parameters():
        if "lora_B" in name:
            weight.data.uniform_(-LARGEST, LARGEST)
    return policy


class Recorded(Sampled):
    """A choice that keeps the log-probabilities of what it chose among, (tokens, vocabulary) of each row."""

    def __init__(self, keys: Sequence[Sequence[int]]) -> None:
        """Begin some completions by their keys."""
        super().__init__(keys, temperature=1.0)
        self._rows = list(range(len(keys)))
        self.seen: list[list[torch.Tensor]] = [[] for _ in keys]

    def __call__(self, logits: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
        """Return a token of each row."""
        for row, of_row in zip(self._rows, logits, strict=True):
            self.seen[row].append(of_row.log_softmax(dim=-1))
        return super().__call__(logits, last)

    def keep(self, places: Sequence[int]) -> None:
        """Go on with these rows alone, in this order."""
        self._rows = [self._rows[place] for place in places]
        super().keep(places)


class Draws:
    """Completions of short prompts, each with noise of its own."""

    def __init__(self, policy: Any, inputs: Inputs, count: int) -> None:
        """Choose the prompts: the shortest, in turns."""
        tokenizer = inputs.tokenizer
        shortest = sorted(inputs.rows, key=lambda row: (len(row.system) + len(row.prompt), row.prompt_id))[:PROMPTS]
        texts = [
            tokenizer.apply_chat_template(
                as_messages(row.system, row.prompt), tokenize=False, add_generation_prompt=True
            )
            for row in shortest
        ]
        encoded = [tokenizer.encode(text, add_special_tokens=False) for text in texts]
        self._policy = policy
        self._engine = Engine(policy)
        self._prompts = [encoded[place % len(encoded)] for place in range(count)]
        self._keys = keys_of(self._prompts, SEED)
        self._ends = {tokenizer.eos_token_id}
        self.most = MOST

    def beside_forward(self, count: int) -> tuple[float, int]:
        """Return the largest difference of log-probabilities, and the completions with a plain loop's tokens."""
        prompts, keys = self._prompts[:count], self._keys[:count]
        choice = Recorded(keys)
        drawn = self._engine.draw(prompts, choice, most=MOST, ends=self._ends)
        error, equal = 0.0, 0
        for prompt, key, tokens, seen in zip(prompts, keys, drawn, choice.seen, strict=True):
            own = self._logits(prompt + tokens)[len(prompt) - 1 : -1].log_softmax(dim=-1)
            error = max(error, (torch.stack(seen) - own).abs().max().item())
            equal += tokens == self._plain(prompt, key)
        return error, equal

    def alone_and_among_others(self) -> int:
        """Return how many completions are the same alone and in a batch of random others."""
        together: dict[int, list[int]] = {}
        generator = random.Random(SEED)
        order = list(range(len(self._prompts)))
        generator.shuffle(order)
        while order:
            size = generator.randint(*AT_ONCE)
            batch, order = order[:size], order[size:]
            together.update(zip(batch, self._drawn(batch), strict=True))
        return sum(self._drawn([place]) == [tokens] for place, tokens in together.items())

    def _drawn(self, places: Sequence[int]) -> list[list[int]]:
        choice = Sampled([self._keys[place] for place in places], temperature=1.0)
        return self._engine.draw([self._prompts[place] for place in places], choice, most=MOST, ends=self._ends)

    def _plain(self, prompt: Sequence[int], key: Sequence[int]) -> list[int]:
        choice, tokens = Sampled([key], temperature=1.0), list[int]()
        while len(tokens) < MOST and (not tokens or tokens[-1] not in self._ends):
            ids = [*prompt, *tokens]
            tokens.append(int(choice(self._logits(ids)[-1:], torch.tensor([ids[-1:]]))))
        return tokens

    def _logits(self, ids: Sequence[int]) -> torch.Tensor:
        with torch.no_grad():
            logits: torch.Tensor = self._policy(input_ids=torch.tensor([list(ids)])).logits[0]
        return logits.float()


def gradient_error(recipe: TrainConfig, inputs: Inputs, policy: Any, folder: Path) -> float:
    """Return by how much the gradient of a packed step differs from the plain one's, as a share of its norm."""
    named = {"model": policy, "processing_class": inputs.tokenizer, "peft_config": None}
    databases = Databases.from_store(inputs.store)
    trainer = policy_trainer(recipe, inputs.rows, databases, SEED, folder, named)
    if not trainer._packed.is_on:  # noqa: SLF001 - no other way to know
        raise InputError(f"no prompts of {type(policy.get_base_model()).__name__} are packed; measure another model")
    trainer.model.train()
    trainer.current_gradient_accumulation_steps = recipe.accumulation
    # The trainer chooses its prompts itself.
    batch = trainer._prepare_inputs([{"prompt": []}] * recipe.completions_per_step)  # noqa: SLF001 - TRL's only way
    found = []
    for packed in (True, False):
        trainer._packed.is_on &= packed  # noqa: SLF001 - switched off by a memory that is too small, as here
        trainer.model.zero_grad()
        trainer.compute_loss(trainer.model, dict(batch)).backward()
        if trainer._packed.is_on != packed:  # noqa: SLF001 - no other way to know
            raise InputError("the memory is too small for a packed row, so that none was measured; free some")
        learned = [weight.grad for weight in trainer.model.parameters() if weight.grad is not None]
        found.append(torch.cat([gradient.flatten().double() for gradient in learned]))
    packed_gradient, plain = found
    return float((packed_gradient - plain).norm() / plain.norm())
