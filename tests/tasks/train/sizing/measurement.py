"""Measurement of the bytes that a forward pass keeps for the backward pass."""

from collections.abc import Mapping
from typing import Any, Final

VOCABULARY: Final = 64
RANK: Final = 16
SEED: Final = 7


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
