"""Sampling speed of transformers in bfloat16, in tokens a second: most of a training's time without vLLM."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.gpu_check.row import Row
from benchmarks.gpu_check.scale import SEED, Scale
from benchmarks.gpu_check.shape_models import build

SEQUENCES: Final = 32
"""Completions of a step of the recipe."""


def measure(scale: Scale, _work: Path) -> Iterator[Row]:
    """Yield the tokens a second of the second of two batches; the first warms up."""
    import torch
    from transformers import GenerationConfig

    scale.cap_memory()
    prompt, tokens = (8, 8) if scale.is_tiny else (256, 128)
    model = build(scale.policy, scale.device, torch.bfloat16 if scale.on_gpu else torch.float32).eval()
    ids = torch.randint(0, scale.policy.vocabulary, (SEQUENCES, prompt), device=scale.device)
    decoding = GenerationConfig(do_sample=True, min_new_tokens=tokens, max_new_tokens=tokens, top_k=0, pad_token_id=0)
    torch.manual_seed(SEED)
    seconds = 0.0
    with torch.inference_mode():
        for _ in range(2):
            started = time.perf_counter()
            # Reading the result waits for the GPU.
            model.generate(ids, attention_mask=torch.ones_like(ids), generation_config=decoding).tolist()
            seconds = time.perf_counter() - started
    rate = SEQUENCES * tokens / seconds
    yield Row(
        "sampling by transformers",
        f"{rate:,.0f} tokens/s, {SEQUENCES} at once, {1000 * seconds / tokens:.1f} ms a token",
        "",
        "ok",
        {"tokens_per_second": rate, "sequences": SEQUENCES, "prompt_tokens": prompt, "tokens": tokens},
    )
