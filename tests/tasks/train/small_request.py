"""A request as far as the checkpoints read it; imports nothing heavy, so that a child process starts at once."""

from pathlib import Path
from typing import Any

from schemas.config.train import TrainConfig
from tasks.train.request import TrainRequest

BASE = "b" * 64
TRAINING = "training"


def request_of(config: TrainConfig, folder: Path, mirror: Path, **changes: Any) -> TrainRequest:
    """Return the request; what it names need not be there."""
    values: dict[str, Any] = {
        "config": config,
        "spec": "grounded",
        "validation_temperature": 0.1,
        "validation_batch_size": 4,
        "max_prompt_tokens": 200,
        "seed": 5,
        "base": folder / "base",
        "base_sha256": BASE,
        "dataset": folder / "dataset",
        "store": folder / "store",
        "audit": folder / "audit",
        "mirror": str(mirror),
        "training": TRAINING,
        "output": folder / "output",
        **changes,
    }
    return TrainRequest.model_validate(values)
