"""What goes on in a resumed training from where it stood, and how its state is kept in a checkpoint's folder.

A state is made of JSON's values and tensors. It is written as two files: `NAME.json`, and `NAME.safetensors` with the
tensors, where it has any. Neither can execute anything when it is read.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from schemas.errors import InputError

TENSOR: Final = "$tensor"
"""The one key of an object that stands for a tensor, whose value is the tensor's name."""


class Stateful(Protocol):
    """A part of the training that keeps something from step to step."""

    def state_dict(self) -> dict[str, Any]:
        """Return all of its state: JSON's values and tensors on the CPU, none of which it changes afterwards."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from where `state` was taken."""


def write_state(folder: Path, name: str, state: Mapping[str, Any]) -> None:
    """Write a state into a checkpoint's folder.

    Args:
        folder: The checkpoint.
        name: What the state is of; the name of its files.
        state: JSON's values and tensors on the CPU. A mapping's keys become texts and a tuple becomes a list.
    """
    from safetensors.torch import save_file

    tensors: dict[str, Any] = {}
    (folder / f"{name}.json").write_text(json.dumps(_without_tensors(state, "", tensors)), encoding="utf-8")
    if tensors:
        save_file(tensors, folder / f"{name}.safetensors")


def read_state(folder: Path, name: str) -> Any:
    """Read what `write_state` wrote.

    Raises:
        InputError: The checkpoint has no such state.
    """
    from safetensors.torch import load_file

    file, tensors = folder / f"{name}.json", folder / f"{name}.safetensors"
    if not file.exists():
        raise InputError(
            f"the checkpoint {folder} has no {file.name}; it is of another algorithm, so start with --fresh"
        )
    values = json.loads(file.read_text(encoding="utf-8"))
    return _with_tensors(values, load_file(tensors) if tensors.exists() else {})


def _without_tensors(value: Any, path: str, tensors: dict[str, Any]) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        # The number tells apart what is alike in its path: keys may have dots.
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
