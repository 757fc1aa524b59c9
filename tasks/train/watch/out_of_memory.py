"""Out of memory has many faces, one of each library; a person gets one sentence, with the settings to change."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from schemas.errors import InputError
from schemas.train_config import TrainConfig
from tasks.train.dpo_recipe import pairs_per_pass

VLLM_SIGNS: Final = re.compile(
    r"No available memory for the cache blocks"
    r"|Free memory on device .* is less than desired GPU memory utilization"
    r"|larger than the maximum number of tokens that can be stored in KV cache"
    r"|KV cache is needed, which is larger than the available KV cache memory",
    re.IGNORECASE | re.DOTALL,
)
"""What vLLM says where its share of the GPU is too small, or more than is free."""
SIGNS: Final = re.compile(
    r"CUDA out of memory"
    r"|(CUDA|HIP)( driver)? error:? out of memory"
    r"|CUBLAS_STATUS_ALLOC_FAILED"
    r"|DefaultCPUAllocator: (can't allocate|not enough) memory"
    r"|Error out of memory at line",
    re.IGNORECASE,
)
"""What torch, CUDA's libraries and bitsandbytes say."""


@contextmanager
def memory_errors_told(config: TrainConfig) -> Iterator[None]:
    """Turn whatever a library raises in the block for want of memory into one sentence.

    Raises:
        InputError: The memory was not enough.
    """
    try:
        yield
    except Exception as error:
        sentence = out_of_memory_sentence(error, config)
        if sentence is None:
            raise
        raise InputError(sentence) from error


def out_of_memory_sentence(error: BaseException, config: TrainConfig) -> str | None:
    """Return what to do about an error that is one of memory, or that was caused by one; None for any other."""
    causes = _causes(error)
    kept = "the checkpoints are kept, and a machine with more memory goes on from them with the same settings"
    if any(VLLM_SIGNS.search(str(cause)) for cause in causes):
        return (
            f"vLLM finds too little room on the GPU with train.vllm.memory_share {config.vllm.memory_share:g}; raise "
            "it if much of the GPU is free, lower it if another process holds it, or lower train.max_completion_tokens "
            f"{config.max_completion_tokens}; {kept}"
        )
    if any(_is_of_memory(cause) for cause in causes):
        return f"the memory is full; {'; or '.join(_remedies(config))}; {kept}"
    return None


def _is_of_memory(error: BaseException) -> bool:
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & {"MemoryError", "OutOfMemoryError"} or SIGNS.search(str(error)))


def _causes(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in found:
        found.append(cause)
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return found


def _remedies(config: TrainConfig) -> Iterator[str]:
    finer = next(_finer(config), None)
    if finer is not None:
        yield f"raise train.accumulation from {config.accumulation} to {finer}, which trains as before in smaller parts"
    yield f"lower train.max_completion_tokens {config.max_completion_tokens}"
    if config.vllm.enabled and config.algorithm == "grpo":
        yield f"lower train.vllm.memory_share {config.vllm.memory_share:g}"


def _finer(config: TrainConfig) -> Iterator[int]:
    """Yield the numbers of smaller parts that a step can be divided into as it is, also one of whole pairs."""
    at_once = config.completions_per_step
    pairs = pairs_per_pass(config) * config.accumulation
    for parts in range(config.accumulation + 1, at_once + 1):
        same_pairs = pairs_per_pass(config.model_copy(update={"accumulation": parts})) * parts == pairs
        if at_once % parts == 0 and (config.algorithm == "grpo" or same_pairs):
            yield parts
