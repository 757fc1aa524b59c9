"""Kernel that Triton compiles here: Unsloth and TRL have many, and none of them runs where its compiler does not."""

from typing import Any, Final

import torch
import triton
import triton.language as tl

BLOCK: Final = 256
LENGTH: Final = 1000


@triton.jit  # type: ignore[untyped-decorator]
def _add(first: Any, second: Any, total: Any, length: Any, block: tl.constexpr) -> None:
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
