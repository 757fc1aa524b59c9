"""Measurement and estimate of the bytes that a forward pass keeps for the backward pass."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from benchmarks.gpu_check.shape_models import build
from schemas.config.train import GradientCheckpointing
from tasks.train.sizing.activations import kept_bytes
from tasks.train.sizing.decoder_shape import BFLOAT16_BYTES, DecoderShape

VOCABULARY: Final = 64
RANK: Final = 16
SEED: Final = 7


@dataclass(frozen=True)
class Compared:
    """One measurement and its estimate, in bytes."""

    checkpointing: GradientCheckpointing
    layers: int
    measured: int
    estimated: int

    @property
    def apart(self) -> float:
        """Return the estimate's relative difference from the measurement."""
        return self.estimated / self.measured - 1


def compare(shape: DecoderShape, checkpointing: GradientCheckpointing, rows: int, tokens: int) -> Compared:
    """Measure the memory that a decoder keeps of a forward pass at its peak, and estimate it.

    Args:
        shape: The decoder; its vocabulary is kept small, for the head is not part of the pass.
        checkpointing: `none` or `torch`.
        rows: Sequences of the pass.
        tokens: Tokens of each.
    """
    measured = kept_for_backward(_adapted(shape, shape.layers, checkpointing), rows, tokens)
    if checkpointing == "torch":
        one, two = (kept_for_backward(_adapted(shape, layers, "none"), rows, tokens) for layers in (1, 2))
        measured += two - one
    estimated = kept_bytes(shape, RANK, rows, tokens, BFLOAT16_BYTES, checkpointing)
    return Compared(checkpointing, shape.layers, measured, estimated)


def kept_for_backward(model: Any, rows: int, tokens: int, *, autocast: bool = True) -> int:
    """Return the bytes that a forward pass of the decoder keeps for the backward pass, without weights and adapter.

    Args:
        model: The decoder with its adapter.
        rows: Sequences of the pass.
        tokens: Tokens of each.
        autocast: Compute in bfloat16, whatever the type of its weights.
    """
    import torch

    ids = torch.randint(0, VOCABULARY, (rows, tokens), generator=torch.Generator().manual_seed(SEED))
    mask = torch.ones_like(ids)
    mask[0, :3] = 0
    return kept_by({"input_ids": ids, "attention_mask": mask}, model, autocast=autocast)


def kept_by(asked: Mapping[str, Any], model: Any, *, autocast: bool) -> int:
    """Return the bytes that a forward pass of the decoder with these arguments keeps for the backward pass.

    Args:
        asked: Arguments of the decoder, `input_ids` among them.
        model: The decoder with its adapter, which are not counted.
        autocast: Compute in bfloat16, whatever the type of its weights.
    """
    import torch

    own = {tensor.untyped_storage().data_ptr() for tensor in [*model.parameters(), *model.buffers()]}
    kept: dict[int, torch.UntypedStorage] = {}
    tokens = asked["input_ids"].numel()

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        # The adapter in bfloat16, which autocast keeps whatever the batch: the estimate counts it with the adapter.
        is_weight = autocast and tensor.dim() == 2 and RANK in tensor.shape and tokens not in tensor.shape
        if storage.data_ptr() not in own and not is_weight:
            kept[storage.data_ptr()] = storage
        return tensor

    with (
        torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor),
        torch.autocast("cpu", torch.bfloat16, enabled=autocast),
    ):
        model.base_model.model.model(**asked, use_cache=False)
    return sum(storage.nbytes() for storage in kept.values())


def _adapted(shape: DecoderShape, layers: int, checkpointing: GradientCheckpointing) -> Any:
    import torch
    from peft import LoraConfig, get_peft_model

    base = build(replace(shape, layers=layers, vocabulary=VOCABULARY), "cpu", torch.bfloat16)
    model = get_peft_model(base, LoraConfig(r=RANK, target_modules="all-linear"))
    if checkpointing == "torch":
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        model.enable_input_require_grads()
    return model.train()
