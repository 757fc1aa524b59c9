"""The train stage's GRPO child, but that the step and the prompt decide a completion's tokens.

As they are sampled in the product, they also depend on what else is in the batch, and so on the number of processes.
"""

import random
from typing import Any

from tasks.policy.child import as_child
from tasks.train.children import grpo
from tasks.train.stage import StartedTraining, TrainingInputs, train


def start(inputs: TrainingInputs) -> StartedTraining:
    import torch

    started = grpo.start(inputs)
    trainer = started.trainer
    sample = trainer._generate_single_turn

    def sample_by_group(prompt_ids: list[list[int]], *others: Any) -> Any:
        if trainer._chosen is not None:
            return sample(prompt_ids, *others)
        found: list[list[int]] = []
        grammars = trainer._grammars
        for place in range(0, len(prompt_ids), trainer.num_generations):
            group = prompt_ids[place : place + trainer.num_generations]
            torch.manual_seed(random.Random(f"{trainer.state.global_step} {group[0]}").getrandbits(63))
            with trainer.constrained(None if grammars is None else grammars[place : place + len(group)]):
                found += sample(group, *others)[0]
        return found, None

    trainer._generate_single_turn = sample_by_group
    return started


if __name__ == "__main__":
    with as_child() as (request_file, channel):
        train(request_file, channel, start)
