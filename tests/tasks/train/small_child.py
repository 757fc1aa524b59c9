"""A request of a small training, with all that the real child reads."""

import random
from pathlib import Path
from typing import Any

from schemas.config.train import TrainConfig
from schemas.store.files import write_store
from tasks.synthesize.simulated import simulate_store
from tasks.train.request import TrainRequest
from tests.prompt_tables import write_prompts
from tests.tasks.train.preflight.test_inputs import audited
from tests.tasks.train.small_request import request_of
from tests.tasks.train.small_training import RECIPE, prompt_rows, tiny_policy

PREFLIGHT = {
    # The policy had no time to learn.
    "prompts": 1,
    "min_distinct": 1,
    "max_ceiling_share": 1.0,
    "min_spread": 0.0,
    "max_zero_variance": 1.0,
    "min_prompts_per_task": 6,
}


def make_request(folder: Path, **recipe: Any) -> TrainRequest:
    """Make what a training reads, and return what the train stage would ask for."""
    model, tokenizer = tiny_policy()
    model.save_pretrained(folder / "base")
    tokenizer.save_pretrained(folder / "base")
    rows = prompt_rows()
    for split, of_split in (("train", rows), ("validation", rows[:2])):
        write_prompts(of_split, folder / "dataset" / "data" / f"{split}.parquet")
    write_store(simulate_store(40, random.Random(1)), folder / "store")
    (folder / "audit").mkdir()
    config = TrainConfig.model_validate({**RECIPE, "preflight": PREFLIGHT, **recipe})
    return request_of(config, folder, folder / "mirror", audit=audited(folder / "audit"))
