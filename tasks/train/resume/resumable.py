"""Trainer mixin that captures its whole state in memory between two steps, for others to write.

Transformers writes its checkpoints while training waits, partly by pickle. Here the state is copied, which takes
milliseconds, and the files are safetensors and JSON; on resume the Trainer's own loop reads them.
"""

import random
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from tasks.train.resume.adapter_files import load_adapter_weights
from tasks.train.resume.state_files import read_state

OPTIMIZER: Final = "optimizer"
RANDOM: Final = "random"


class ResumableTrainer:
    """Mixin that precedes a transformers Trainer among a class's bases."""

    model: Any
    optimizer: Any
    lr_scheduler: Any
    state: Any

    def optimizer_state(self) -> dict[str, Any]:
        """Return a CPU copy of the optimizer's and the scheduler's state."""
        return {
            "optimizer": copied_to_cpu(self.optimizer.state_dict()),
            "scheduler": copied_to_cpu(self.lr_scheduler.state_dict()),
        }

    def trainer_state(self) -> dict[str, Any]:
        """Return the content of transformers' `trainer_state.json`, frozen at this point of the log."""
        values = {field.name: getattr(self.state, field.name) for field in fields(self.state)}
        # Entries are appended and never changed.
        return values | {"log_history": list(self.state.log_history), "stateful_callbacks": {}}

    def _save_checkpoint(self, *_: Any) -> None:
        """Write nothing: the callbacks' `on_save` captures the state."""

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        load_adapter_weights(model or self.model, Path(resume_from_checkpoint))

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        if checkpoint is None:
            return
        state = read_state(Path(checkpoint), OPTIMIZER)
        optimizer = state["optimizer"]
        # JSON turned the parameters' integer keys into strings.
        by_parameter = {int(number): values for number, values in optimizer["state"].items()}
        self.optimizer.load_state_dict({**optimizer, "state": by_parameter})
        self.lr_scheduler.load_state_dict(state["scheduler"])

    def _load_rng_state(self, checkpoint: str | None) -> None:
        if checkpoint is not None:
            set_random_state(read_state(Path(checkpoint), RANDOM))


def random_state() -> dict[str, Any]:
    """Return the state of every global generator that libraries draw from."""
    version, words, gauss = random.getstate()
    # This argument is the only name of the form that is a mapping.
    numpy_state: Any = np.random.get_state(legacy=False)
    return {
        "python": [version, list(words), gauss],
        "numpy": {**numpy_state, "state": {**numpy_state["state"], "key": numpy_state["state"]["key"].tolist()}},
        "torch": torch.random.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def set_random_state(state: Mapping[str, Any]) -> None:
    """Restore a `random_state`; with another number of GPUs, theirs stay unchanged."""
    version, words, gauss = state["python"]
    random.setstate((version, tuple(words), gauss))
    key = np.array(state["numpy"]["state"]["key"], dtype=np.uint32)
    np.random.set_state({**state["numpy"], "state": {**state["numpy"]["state"], "key": key}})
    torch.random.set_rng_state(state["torch"])
    if len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(state["cuda"])


def copied_to_cpu(value: Any) -> Any:
    """Copy a state of mappings and sequences, its tensors to the CPU."""
    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu", copy=True)
    if isinstance(value, Mapping):
        return {key: copied_to_cpu(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [copied_to_cpu(item) for item in value]
    return value
