"""Inputs of a training at a size for tests, and rewards that differ whatever a policy of random weights writes.

As a module of its own it is the train stage's GRPO child with Unsloth's trainer on a CPU.
"""

import random
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from schemas.config.train import TrainConfig
from schemas.documents import AUDIT_RECORD_FILE, ScoredRollout
from schemas.store.files import write_store
from schemas.tables.prompts import PromptRow, write_prompt_table
from tasks.policy.child import as_child
from tasks.policy.generate import Completion
from tasks.synthesize.simulated import simulate_store
from tasks.train.children import grpo
from tasks.train.grpo.rewards import ComponentRewards
from tasks.train.request import TrainRequest
from tasks.train.stage import train
from tests.contracts.unsloth.on_cpu import use_unsloth_on_cpu
from tests.tasks.train.preflight.test_inputs import RECORD
from tests.tasks.train.small_request import request_of
from tests.tasks.train.small_training import RECIPE, SMALL, prompt_rows, tiny_policy

LIMITS = {"prompts": 2, "max_ceiling_share": 1.0, "min_prompts_per_task": 6}
"""Of the preflight, for a policy that has learnt nothing: what it says is not judged, all else is."""


def make_request(folder: Path, tokenizer: Any = None, **recipe: Any) -> TrainRequest:
    """Write a training's inputs to a folder, and return the request for it; the tokenizer may be another."""
    request = request_of(
        TrainConfig.model_validate({**RECIPE, "preflight": LIMITS, **recipe}), folder, folder / "mirror"
    )
    _write_base(request.base, tokenizer or tiny_policy()[1])
    write_store(simulate_store(60, random.Random(1)), request.store)
    (request.dataset / "data").mkdir(parents=True)
    for split, rows in (("train", prompt_rows()), ("validation", prompt_rows(each=2))):
        write_prompt_table(request.dataset / "data" / f"{split}.parquet", rows)
    request.audit.mkdir()
    (request.audit / AUDIT_RECORD_FILE).write_text(RECORD.model_dump_json(), encoding="utf-8")
    return request


def _write_base(folder: Path, tokenizer: Any) -> None:
    """Write a tiny policy whose logits depend on what it reads, and which ends an answer at times.

    Those of random weights of the usual size hardly do, and answers that are all cut off are all as long.
    """
    import torch

    from tasks.stand_in.model import build_model

    model: Any = build_model(SMALL, tokenizer, 3)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.mul_(10.0)
        everything = torch.arange(len(tokenizer)).unsqueeze(0)
        likeliest = int(model(input_ids=everything).logits.softmax(-1).mean(dim=(0, 1)).argmax())
        rows = model.get_input_embeddings().weight
        rows[[tokenizer.eos_token_id, likeliest]] = rows[[likeliest, tokenizer.eos_token_id]]
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def vary_rewards() -> None:
    """Let each component of a reward be a number in [0, 1] that the completion's text decides."""
    score = ComponentRewards.score

    def score_by_text(
        self: ComponentRewards, rows: Sequence[PromptRow], completions: Sequence[Completion]
    ) -> list[ScoredRollout]:
        return [_varied(rollout) for rollout in score(self, rows, completions)]

    ComponentRewards.score = score_by_text  # type: ignore[method-assign]


def _varied(rollout: ScoredRollout) -> ScoredRollout:
    components = {name: zlib.crc32(f"{name}: {rollout.completion}".encode()) % 101 / 100 for name in rollout.components}
    reward = sum(components.values()) / len(components)
    return rollout.model_copy(update={"components": components, "reward": reward})


if __name__ == "__main__":
    with as_child() as (request_file, channel):
        use_unsloth_on_cpu()
        vary_rewards()
        train(request_file, channel, grpo.start)
