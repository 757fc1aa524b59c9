"""Training state after a step: in memory, and as a checkpoint's files."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tasks.train.resume.adapter_files import write_adapter
from tasks.train.resume.state_files import write_state

TRAINER_STATE_FILE: Final = "trainer_state.json"
"""Transformers' own file name: its loop reads the step from it."""


@dataclass(frozen=True)
class TrainerSnapshot:
    """Training state after a step: JSON values, and immutable tensors on the CPU."""

    step: int
    adapter: Mapping[str, Any]
    """The adapter's weights, by their names in the file."""
    config: Mapping[str, Any]
    """Its PEFT configuration."""
    trainer_state: Mapping[str, Any]
    """State that transformers' loop reads."""
    states: Mapping[str, Mapping[str, Any]]
    """The state of each part, by its name."""
    files: Mapping[str, Path]
    """Immutable files, by their paths in the checkpoint."""

    def write(self, folder: Path) -> None:
        """Write it into an empty folder, as a checkpoint from which the trainer resumes."""
        write_adapter(folder, self.adapter, self.config)
        (folder / TRAINER_STATE_FILE).write_text(json.dumps(self.trainer_state), encoding="utf-8")
        for name, state in self.states.items():
            write_state(folder, name, state)
        for name, file in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            os.link(file, path)
