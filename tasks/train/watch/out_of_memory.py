"""Translation of each library's out-of-memory error into one sentence with the settings to change."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from schemas.config.train import TrainConfig
from schemas.errors import InputError, causes_of
from tasks.policy.batch import is_of_memory
from tasks.train.sizing.memory import REMEDIES

VLLM_SIGNS: Final = re.compile(
    r"No available memory for the cache blocks"
    r"|Free memory on device .* is less than desired GPU memory utilization"
    r"|larger than the maximum number of tokens that can be stored in KV cache"
    r"|KV cache is needed, which is larger than the available KV cache memory",
    re.IGNORECASE | re.DOTALL,
)
"""vLLM's messages for a share of the GPU that is too small, or more than is free."""


@contextmanager
def memory_errors_translated(config: TrainConfig | None = None) -> Iterator[None]:
    """Turn a library's out-of-memory error in the block, of a training or else of SFT, into one sentence."""
    try:
        yield
    except Exception as error:
        if config is not None and any(VLLM_SIGNS.search(str(cause)) for cause in causes_of(error)):
            found = (
                f"vLLM finds too little room on the GPU with train.vllm.memory_share {config.vllm.memory_share:g}; "
                "raise it if much of the GPU is free, lower it if another process holds it, or lower "
                f"train.max_completion_tokens {config.max_completion_tokens}"
            )
        elif is_of_memory(error):
            found = f"the memory is full; {REMEDIES['training' if config else 'SFT']}"
        else:
            raise
        kept = "; the checkpoints are kept, and a machine with more memory resumes from them with the same settings"
        raise InputError(f"{found}{kept if config else ''}") from error
