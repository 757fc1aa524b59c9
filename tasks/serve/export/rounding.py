"""Rounding of weights as a format rounds them: what it may change of a number, and how much noise that makes.

Both are computed from the format's definition, not by the program that writes it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tasks.serve.export.gguf_file import BLOCK, Precision, tensors_of

if TYPE_CHECKING:
    import torch

STEPS: Final = 127
"""Steps of a block's largest number in Q8_0."""
HALF_STEP: Final = 0.57
"""Most that Q8_0 changes a number, in steps: half of one, and 127 times what the scale loses in half precision, at most
2 ** -11 of it."""
SMALLEST_HALF: Final = 2.0**-25
"""Half of the smallest number in half precision: what every number may lose there."""


def round_weights(model: Any, source: Path, precision: Precision) -> None:
    """Round a model's weights in place.

    Args:
        model: The model, in float32.
        source: Folder that it was loaded from.
        precision: The format's type of matrices.
    """
    import torch

    own: Mapping[str, Any] = dict(model.named_parameters())
    with torch.no_grad():
        for name, weights in tensors_of(source):
            if name in own:
                own[name].copy_(rounded(weights.float(), precision))


def rounded(weights: "torch.Tensor", precision: Precision) -> "torch.Tensor":
    """Return a tensor in float32 as the format holds it; vectors are held exactly."""
    import torch

    if weights.ndim == 1:
        return weights
    if precision == "F16" or weights.shape[-1] % BLOCK:
        return weights.half().float()
    blocks = _blocks(weights)
    scales = blocks.abs().amax(dim=-1, keepdim=True) / STEPS
    # A half is rounded away from zero, as C's `roundf` does.
    steps = torch.where(scales > 0, blocks * (1 / scales), 0.0)
    steps = torch.copysign((steps.abs() + 0.5).floor(), steps)
    return (steps * scales.half().float()).reshape(weights.shape)


def tolerance(weights: "torch.Tensor", precision: Precision | None) -> "torch.Tensor":
    """Return how far each number of a tensor may be from its own in an export.

    Args:
        weights: The tensor in float32.
        precision: The format's type of matrices; None where it keeps the model's own.
    """
    import torch

    if precision is None or weights.ndim == 1:
        return torch.zeros_like(weights)
    if precision == "F16" or weights.shape[-1] % BLOCK:
        # Half of the last of ten binary digits.
        return weights.abs() * 2.0**-11 + SMALLEST_HALF
    blocks = _blocks(weights)
    scales = blocks.abs().amax(dim=-1, keepdim=True) / STEPS
    return (scales * HALF_STEP).expand_as(blocks).reshape(weights.shape) + STEPS * SMALLEST_HALF


def _blocks(weights: "torch.Tensor") -> "torch.Tensor":
    return weights.reshape(*weights.shape[:-1], -1, BLOCK)
