"""Kernel that Triton compiles here: Unsloth and TRL have many, and none of them runs where its compiler does not."""

from typing import Final

import torch
import triton
import triton.language as tl

BLOCK: Final = 256
LENGTH: Final = 1000


# Triton evaluates annotations where the kernel is compiled, and refuses those that are not its own.
@triton.jit  # type: ignore[untyped-decorator]
def _add(first, second, total, length, block: tl.constexpr):  # type: ignore[no-untyped-def]
    places = tl.program_id(0) * block + tl.arange(0, block)
    inside = places < length
    sums = tl.load(first + places, mask=inside) + tl.load(second + places, mask=inside)
    tl.store(total + places, sums, mask=inside)


def largest_error(seed: int) -> float:
    """Add two vectors, drawn from the seed, by the kernel; return its largest difference from torch's sum."""
    torch.manual_seed(seed)
    first, second = (torch.randn(LENGTH, device="cuda") for _ in range(2))
    total = torch.empty_like(first)
    _add[(triton.cdiv(LENGTH, BLOCK),)](first, second, total, LENGTH, BLOCK)
    return float((total - (first + second)).abs().max())
