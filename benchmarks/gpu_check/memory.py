"""Peak memory of a training step by shape, next to the estimate that `tucano train --dry-run` prints.

A forward and a backward pass of the decoder in NF4 under bfloat16 autocast and AdamW's step, with the recipe's adapter.
The head is left out: TRL computes it in tiles, which the estimate counts separately.
"""

import gc
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from benchmarks.gpu_check.base import POLICY, SEED, TINY, Row, Scale, build, row_of
from tasks.train.sizing.memory import (
    BFLOAT16_BYTES,
    KNOWN_SHAPES,
    DecoderShape,
    adapter_bytes,
    kept_bytes,
    weight_bytes,
)

RANK, ALPHA = 16, 32
LARGEST: Final = "Polygl0t/Tucano2-qwen-3.7B-Instruct"
MAX_DIFFERENCE: Final = 0.2
"""Largest difference of a peak from its estimate, as a share of the estimate."""


@dataclass(frozen=True)
class Case:
    """A step whose memory is measured."""

    name: str
    shape: DecoderShape
    sequences: int
    """Sequences of a forward pass."""
    tokens: int
    """Tokens of a prompt and its completion."""
    checkpointing: bool
    """Whether the backward pass recomputes activations instead of keeping them."""

    @property
    def title(self) -> str:
        """The case in words."""
        how = "with" if self.checkpointing else "without"
        return f"{self.name}, {self.sequences} x {self.tokens} tokens, {how} checkpointing"

    @property
    def estimate(self) -> float:
        """The estimated bytes of the step without its head."""
        how: Literal["torch", "none"] = "torch" if self.checkpointing else "none"
        weights = weight_bytes(self.shape, BFLOAT16_BYTES, four_bit=True)
        adapter = adapter_bytes(self.shape.adapter_parameters(RANK), "adamw_torch")
        return float(weights + adapter + kept_bytes(self.shape, self.sequences * self.tokens, how))


def cases(scale: Scale) -> list[Case]:
    """Return the cases: the recipe's own step, and one sequence a pass of the largest model."""
    if scale.is_tiny:
        return [Case("tiny", TINY, 1, 32, checkpointing) for checkpointing in (False, True)]
    return [
        Case("0.5B", KNOWN_SHAPES[POLICY], 4, 1536, False),
        Case("0.5B", KNOWN_SHAPES[POLICY], 4, 1536, True),
        Case("3.7B", KNOWN_SHAPES[LARGEST], 1, 1536, False),
        Case("3.7B", KNOWN_SHAPES[LARGEST], 1, 1536, True),
        Case("3.7B", KNOWN_SHAPES[LARGEST], 1, 3072, True),
    ]


def measure(scale: Scale, _work: Path) -> Iterator[Row]:
    """Yield the peak of each case."""
    import torch

    if scale.on_gpu:
        torch.cuda.set_per_process_memory_fraction(scale.share)
    for case in cases(scale):
        yield _row(case, scale)
        gc.collect()
        if scale.on_gpu:
            torch.cuda.empty_cache()


def _row(case: Case, scale: Scale) -> Row:
    import torch

    limit = f"{scale.gigabytes:g} GB; estimate {case.estimate / 1e9:.2f} GB"
    try:
        seconds, peak = _step(case, scale)
    except torch.OutOfMemoryError:
        # The estimate may have predicted it.
        predicted = case.estimate > scale.gigabytes * 1e9
        figures = {"estimated_bytes": case.estimate}
        return row_of(case.title, f"more than {scale.gigabytes:g} GB", limit, figures, within=predicted)
    figures = {"peak_bytes": peak, "estimated_bytes": case.estimate, "seconds": seconds}
    if not scale.on_gpu:
        return Row(case.title, f"{seconds:.2f} s; a CPU counts no peak", limit, "not here", figures)
    apart = peak / case.estimate - 1
    fits = peak <= scale.gigabytes * 1e9 and abs(apart) <= MAX_DIFFERENCE
    measured = f"{peak / 1e9:.2f} GB ({apart:+.0%} of the estimate), {seconds:.2f} s"
    return row_of(case.title, measured, limit, figures, within=fits)


def _step(case: Case, scale: Scale) -> tuple[float, int]:
    """Run a step, and return its seconds and the peak of the GPU's memory in bytes; 0 on a CPU."""
    import torch

    model = build(case.shape, scale.device, torch.bfloat16)
    _quantize(model)
    if case.checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        model.enable_input_require_grads()
    trained = _adapt(model)
    model.train()
    ids = torch.randint(0, case.shape.vocabulary, (case.sequences, case.tokens))
    mask = torch.ones_like(ids)
    # Prompts of a step are padded: attention keeps a mask.
    mask[0, 0] = 0
    optimizer = torch.optim.AdamW(trained, lr=1e-6)
    if scale.on_gpu:
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    started = time.perf_counter()
    with torch.autocast(scale.device, dtype=torch.bfloat16):
        hidden = model.get_decoder()(
            ids.to(scale.device), attention_mask=mask.to(scale.device), use_cache=False
        ).last_hidden_state
        loss = hidden.float().pow(2).mean()
    loss.backward()
    optimizer.step()
    if not scale.on_gpu:
        return time.perf_counter() - started, 0
    torch.cuda.synchronize()
    return time.perf_counter() - started, torch.cuda.max_memory_allocated()


def _adapt(model: Any) -> list[Any]:
    """Put the recipe's adapter on a model, in float32, and return its parameters."""
    import torch
    from peft import LoraConfig, inject_adapter_in_model

    torch.manual_seed(SEED)
    for parameter in model.parameters():
        parameter.requires_grad = False
    inject_adapter_in_model(LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules="all-linear"), model)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    for parameter in trained:
        parameter.data = parameter.data.float()
    return trained


def _quantize(model: Any) -> None:
    """Replace a model's linear layers by NF4 ones, one after another."""
    import torch
    from bitsandbytes.nn import Linear4bit, Params4bit

    for name, module in list(model.named_modules()):
        if isinstance(module, torch.nn.Linear) and "layers" in name:
            packed = Linear4bit(
                module.in_features, module.out_features, bias=False, compute_dtype=torch.bfloat16, quant_type="nf4",
                device="meta",
            )  # fmt: skip
            packed.weight = Params4bit(module.weight.detach().cpu(), requires_grad=False, quant_type="nf4")
            owner, _, own_name = name.rpartition(".")
            # Moving it quantizes it.
            setattr(model.get_submodule(owner), own_name, packed.to(module.weight.device))
    # Attributes that PEFT reads.
    model.is_loaded_in_4bit = True
