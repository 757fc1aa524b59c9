"""Translation of each library's out-of-memory error into one sentence with the settings to change."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from schemas.config.train import TrainConfig
from schemas.errors import InputError, causes_of
from tasks.policy.batch import is_of_memory

VLLM_SIGNS: Final = re.compile(
    r"No available memory for the cache blocks"
    r"|Free memory on device .* is less than desired GPU memory utilization"
    r"|larger than the maximum number of tokens that can be stored in KV cache"
    r"|KV cache is needed, which is larger than the available KV cache memory",
    re.IGNORECASE | re.DOTALL,
)
"""vLLM's messages for a share of the GPU that is too small, or more than is free."""


@contextmanager
def memory_errors_translated(config: TrainConfig) -> Iterator[None]:
    """Turn an out-of-memory error of a library in the block, or one that it caused, into one sentence."""
    try:
        yield
    except Exception as error:
        if any(VLLM_SIGNS.search(str(cause)) for cause in causes_of(error)):
            found = (
                f"vLLM finds too little room on the GPU with train.vllm.memory_share {config.vllm.memory_share:g}; "
                "raise it if much of the GPU is free, lower it if another process holds it, or lower "
                f"train.max_completion_tokens {config.max_completion_tokens}"
            )
        elif is_of_memory(error):
            found = f"the memory is full; {'; or '.join(_remedies(config))}"
        else:
            raise
        kept = "the checkpoints are kept, and a machine with more memory resumes from them with the same settings"
        raise InputError(f"{found}; {kept}") from error


def _remedies(config: TrainConfig) -> Iterator[str]:
    passes = config.completions_per_step if config.algorithm == "grpo" else config.completions_per_step // 2
    if config.accumulation < passes:
        yield f"raise train.accumulation {config.accumulation}, which trains as before in smaller parts"
    if config.gradient_checkpointing == "none":
        own = "unsloth" if config.backend == "unsloth" else "torch"
        yield f"set train.gradient_checkpointing='{own}', which trains as before and takes a third longer to update"
    yield f"lower train.max_completion_tokens {config.max_completion_tokens}"
    if config.vllm.enabled and config.algorithm == "grpo":
        yield f"lower train.vllm.memory_share {config.vllm.memory_share:g}"
