"""All that a training is after a step, in memory; and as a checkpoint's files."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tasks.train.adapter_files import write_adapter
from tasks.train.stateful import write_state

TRAINER_STATE_FILE: Final = "trainer_state.json"
"""Transformers' own name: its loop reads the step from it."""


@dataclass(frozen=True)
class Snapshot:
    """A training after a step: JSON's values, and tensors on the CPU that nothing changes any more."""

    step: int
    adapter: Mapping[str, Any]
    """The adapter's weights, by the names that its file has."""
    config: Mapping[str, Any]
    """Its PEFT configuration."""
    trainer_state: Mapping[str, Any]
    """What transformers' loop reads."""
    states: Mapping[str, Mapping[str, Any]]
    """The state of each part, by its name."""
    files: Mapping[str, Path]
    """What is in files that never change again, by their paths in the checkpoint."""

    def write(self, folder: Path) -> None:
        """Write it into an empty folder, as a checkpoint that the trainer resumes from."""
        write_adapter(folder, self.adapter, self.config)
        (folder / TRAINER_STATE_FILE).write_text(json.dumps(self.trainer_state), encoding="utf-8")
        for name, state in self.states.items():
            write_state(folder, name, state)
        for name, file in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            os.link(file, path)
