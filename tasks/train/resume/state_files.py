"""Training state after a step: in memory, and as the files of a checkpoint's folder.

A part's state is made of JSON values and tensors, written as two files: `NAME.json`, and `NAME.safetensors` if there
are tensors. Neither can execute code when it is read.
"""

import io
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from schemas.errors import InputError

TRAINER_STATE_FILE: Final = "trainer_state.json"
"""Transformers' own file name: its loop reads the step from it."""
TENSOR: Final = "$tensor"
"""The one key of an object that stands for a tensor; its value is the tensor's name."""
ROLLOUTS: Final = "rollouts"
"""State of the log of rollouts: a file of those of the newest steps, and a folder of the older ones."""
PREFERENCES: Final = "preferences"
"""State of DPO's pairs, whose completions were sampled before the first step."""


class Stateful(Protocol):
    """Part of the training that keeps state from step to step."""

    def state_dict(self) -> dict[str, Any]:
        """Return its whole state: JSON values and CPU tensors that it does not change afterwards."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state`."""


def write_state(folder: Path, name: str, state: Mapping[str, Any]) -> None:
    """Write a state into a checkpoint's folder."""
    from safetensors.torch import save_file

    tensors: dict[str, Any] = {}
    (folder / f"{name}.json").write_text(json.dumps(_without_tensors(state, "", tensors)), encoding="utf-8")
    if tensors:
        save_file(tensors, folder / f"{name}.safetensors")


def sampled_prompts(files: Iterable[str], read: Callable[[str], bytes]) -> set[str]:
    """Return the prompt_id of each rollout, and of each completion of a pair, until a checkpoint."""
    import polars as pl

    found: set[str] = set()
    for name in files:
        if name == f"{ROLLOUTS}.json":
            found.update(str(values[0]) for values in json.loads(read(name))["rows"])
        elif name == f"{PREFERENCES}.json":
            found.update(str(pair["prompt_id"]) for pair in json.loads(read(name))["pairs"])
        elif name.startswith(f"{ROLLOUTS}/"):
            found.update(pl.read_parquet(io.BytesIO(read(name)), columns=["prompt_id"])["prompt_id"])
    return found


def read_state(folder: Path, name: str) -> Any:
    """Read a state written by `write_state`; InputError where the checkpoint has no such state."""
    from safetensors.torch import load_file

    file, tensors = folder / f"{name}.json", folder / f"{name}.safetensors"
    if not file.exists():
        raise InputError(
            f"the checkpoint {folder} has no {file.name}; it is of another algorithm, so start with --fresh"
        )
    return _with_tensors(json.loads(file.read_text(encoding="utf-8")), load_file(tensors) if tensors.exists() else {})


def _without_tensors(value: Any, path: str, tensors: dict[str, Any]) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        # The number separates equal paths: keys may contain dots.
        name = f"{len(tensors)} {path}"
        tensors[name] = value.contiguous()
        return {TENSOR: name}
    if isinstance(value, Mapping):
        return {str(key): _without_tensors(item, f"{path}.{key}".lstrip("."), tensors) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_tensors(item, f"{path}.{place}".lstrip("."), tensors) for place, item in enumerate(value)]
    return value


def _with_tensors(value: Any, tensors: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        if value.keys() == {TENSOR}:
            return tensors[value[TENSOR]]
        return {key: _with_tensors(item, tensors) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_tensors(item, tensors) for item in value]
    return value
