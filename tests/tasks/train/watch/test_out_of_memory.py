"""Out of memory, in the words of each library: one sentence, with settings that can be changed."""

import pytest

from schemas.config.train import TrainConfig
from schemas.errors import InputError
from tasks.train.watch.out_of_memory import memory_errors_translated

RECIPE = TrainConfig(prompts_per_step=3, generations=4, accumulation=2, max_completion_tokens=64)
FULL = "the memory is full; raise train.accumulation, set train.gradient_checkpointing"
VLLM = "vLLM finds too little room on the GPU with train.vllm.memory_share 0.3"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 21.95 GiB", FULL),
        ("CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported", FULL),
        ("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", FULL),
        ("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you", FULL),
        ("Error out of memory at line 380 in file /src/csrc/pythonInterface.cpp", FULL),
        (MemoryError(), FULL),
        ("No available memory for the cache blocks. Try increasing `gpu_memory_utilization`.", VLLM),
        ("Free memory on device (8.1/21.95 GiB) on startup is less than desired GPU memory utilization (0.9).", VLLM),
        ("3.5 GiB KV cache is needed, which is larger than the available KV cache memory (1.2)", VLLM),
    ],
)
def test_each_librarys_words_are_understood(error: str | Exception, said: str) -> None:
    with pytest.raises(InputError) as refused, memory_errors_translated(RECIPE):
        raise RuntimeError(error) if isinstance(error, str) else error
    assert str(refused.value).startswith(said)
    assert "the checkpoints are kept" in str(refused.value)
    assert "\n" not in str(refused.value)
