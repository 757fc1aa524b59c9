"""A machine's device, and the number of sequences for which it has memory to generate at once.

Computed from the machine's total memory and not from what is free, so that machines of one kind always split a batch
the same way, and sample the same tokens.
"""

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from schemas.errors import causes_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel

GPU_SHARE: Final = 0.9
"""Usable share of a GPU's memory: the rest is for CUDA's context and fragmentation."""
HOST_SHARE: Final = 0.5
"""Usable share of a host's memory: it also runs the flow, its worker and perhaps servers."""
LOGIT_BYTES: Final = 12
"""Bytes of a logit while a token is sampled: in float32, scaled by the temperature, and as a probability."""
MEMORY_LIMIT: Final = Path("/sys/fs/cgroup/memory.max")
"""Control group file with a container's limit in bytes, or `max`."""


def sequences_at_once(model: "PreTrainedModel", prompt_tokens: int, new_tokens: int, most: int) -> int:
    """Return the number of sequences to generate at once: as many as memory allows, at least 1."""
    each = sequence_bytes(model, prompt_tokens, new_tokens)
    return max(1, min(most, int(_memory_left(model) // each)))


def sequence_bytes(model: "PreTrainedModel", prompt_tokens: int, new_tokens: int) -> int:
    """Return the bytes that one sequence takes during generation.

    They are its keys and values in every layer, one layer's computation of the prompt (the feed-forward's gate and
    product, and the attention's four maps), and the logits of one token.
    """
    config: Any = model.config
    number = next(weight.element_size() for weight in model.parameters() if weight.is_floating_point())
    heads = config.num_attention_heads
    head_size = getattr(config, "head_dim", None) or config.hidden_size // heads
    key_width = (getattr(config, "num_key_value_heads", None) or heads) * head_size
    feed_forward = getattr(config, "intermediate_size", None) or 4 * config.hidden_size
    cache = (prompt_tokens + new_tokens) * config.num_hidden_layers * 2 * key_width * number
    prefill = prompt_tokens * (2 * feed_forward + 4 * config.hidden_size) * number
    return int(cache + prefill + LOGIT_BYTES * config.vocab_size)


def _memory_left(model: "PreTrainedModel") -> float:
    """Return the bytes of the machine's memory left for sequences."""
    import torch

    device = next(model.parameters()).device
    if device.type != "cuda":
        weights: int = sum(weight.nbytes for weight in model.parameters())
        return HOST_SHARE * host_memory() - weights
    _, total = torch.cuda.mem_get_info(device)
    allowed = total * min(GPU_SHARE, torch.cuda.get_per_process_memory_fraction(device))
    return float(allowed - torch.cuda.memory_allocated(device) + asleep_bytes())


def asleep_bytes() -> int:
    """Return the bytes that vLLM released when it fell asleep, and that torch still counts as allocated.

    vLLM unmaps its weights and its cache, and keeps their tensors (vLLM's issue 17117).
    """
    module = sys.modules.get("vllm.device_allocator.cumem")
    if module is None:
        return 0
    allocations = module.CuMemAllocator.get_instance().pointer_to_data.values()
    # Fields of a handle: the device, the size, the address, the physical memory.
    return sum(int(allocation.handle[1]) for allocation in allocations if allocation.is_asleep)


def host_memory() -> int:
    """Return the bytes of this host's memory, or of its container's limit."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(memory, int(MEMORY_LIMIT.read_text(encoding="ascii")))
    except (OSError, ValueError):
        # No such file, or `max`: there is no limit.
        return memory


SIGNS: Final = re.compile(
    r"CUDA out of memory"
    r"|(CUDA|HIP)( driver)? error:? out of memory"
    r"|CUBLAS_STATUS_ALLOC_FAILED"
    r"|DefaultCPUAllocator: (can't allocate|not enough) memory"
    r"|Error out of memory at line",
    re.IGNORECASE,
)
"""Messages of torch, CUDA's libraries and bitsandbytes."""


def is_of_memory(error: BaseException) -> bool:
    """Return whether an error is, or was caused by, lack of memory."""
    causes = causes_of(error)
    names = {kind.__name__ for cause in causes for kind in type(cause).__mro__}
    return bool(names & {"MemoryError", "OutOfMemoryError"}) or any(SIGNS.search(str(cause)) for cause in causes)


CPU: Final = "cpu"


def machine_device() -> str:
    """Return the name of the machine's first visible GPU, as torch calls it, such as `NVIDIA L4`; `cpu` without one."""
    import torch

    return str(torch.cuda.get_device_name(0)) if torch.cuda.is_available() else CPU
