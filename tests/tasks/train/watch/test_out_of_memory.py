"""Out of memory, in the words of each library: one sentence, with settings that can be changed."""

import pytest

from schemas.config.train import TrainConfig
from schemas.errors import InputError
from tasks.train.watch.out_of_memory import memory_errors_translated

RECIPE = TrainConfig(prompts_per_step=3, generations=4, accumulation=2, max_completion_tokens=64)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 21.95 GiB"),
        RuntimeError("CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you"),
        RuntimeError("Error out of memory at line 380 in file /src/csrc/pythonInterface.cpp"),
        MemoryError(),
    ],
)
def test_each_librarys_words_are_understood(error: Exception) -> None:
    with pytest.raises(InputError) as refused, memory_errors_translated(RECIPE):
        raise error
    said = str(refused.value)
    assert said.startswith("the memory is full; raise train.accumulation, set train.gradient_checkpointing")
    assert "lower train.max_completion_tokens or" in said
    assert "the checkpoints are kept" in said
    assert "\n" not in said


@pytest.mark.parametrize(
    "text",
    [
        "No available memory for the cache blocks. Try increasing `gpu_memory_utilization`.",
        "Free memory on device (8.1/21.95 GiB) on startup is less than desired GPU memory utilization (0.9).",
        "To serve one request, 3.5 GiB KV cache is needed, which is larger than the available KV cache memory (1.2)",
    ],
)
def test_vllm_without_room_names_its_share(text: str) -> None:
    recipe = RECIPE.model_copy(update={"vllm": RECIPE.vllm.model_copy(update={"enabled": True})})
    with pytest.raises(InputError, match=r"train\.vllm\.memory_share 0\.3"), memory_errors_translated(recipe):
        raise ValueError(text)
