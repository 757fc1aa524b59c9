"""GPU memory released by a sleeping vLLM."""

import sys
from typing import Final

ALLOCATOR: Final = "vllm.device_allocator.cumem"


def asleep_bytes() -> int:
    """Return the bytes that vLLM released when it fell asleep, and that torch still counts as allocated.

    vLLM unmaps its weights and its cache, and keeps their tensors (vLLM's issue 17117).
    """
    module = sys.modules.get(ALLOCATOR)
    if module is None:
        return 0
    allocations = module.CuMemAllocator.get_instance().pointer_to_data.values()
    # Fields of a handle: the device, the size, the address, the physical memory.
    return sum(int(allocation.handle[1]) for allocation in allocations if allocation.is_asleep)
