"""Change of a model's answers by writing a merged adapter in bfloat16, at the real depth and width."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.gpu_check.row import Row, row_of
from benchmarks.gpu_check.scale import SEED, Scale
from benchmarks.gpu_check.shape_models import build

if TYPE_CHECKING:
    import torch

RANK, SCALING, MOVED = 16, 2.0, 2e-3
"""The recipe's adapter, and the size of an entry of its second factor after some hundred steps."""
SEQUENCES: Final = 4
MOST_APART: Final = 0.1
"""Root mean square difference of a logit, in standard deviations of the logits; another model's is 1.4."""


def measure(scale: Scale, _work: Path) -> Iterator[Row]:
    """Yield the difference of the logits between merged weights in bfloat16 and in float32."""
    import torch

    scale.cap_memory()
    # As if read from a file in bfloat16.
    model = build(scale.policy, scale.device, torch.bfloat16).float().eval()
    tokens = 16 if scale.is_tiny else 120
    generator = torch.Generator(scale.device).manual_seed(SEED)
    ids = torch.randint(0, scale.policy.vocabulary, (SEQUENCES, tokens), generator=generator, device=scale.device)
    with torch.inference_mode():
        _merge_random_adapter(model, generator)
        exact = model(ids).logits
        for parameter in model.parameters():
            parameter.copy_(parameter.bfloat16())
        rounded = model(ids).logits
        computed = model.bfloat16()(ids).logits.float()
    yield _row("merged weights in bfloat16", rounded, exact)
    yield _row("and computed in bfloat16", computed, exact)


def _merge_random_adapter(model: Any, generator: "torch.Generator") -> None:
    import torch

    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear) and "layers" in name:
            given, taken = module.weight.shape
            inner = torch.empty(RANK, taken, device=module.weight.device)
            # PEFT's first weights of A: Kaiming's uniform with a = sqrt(5).
            inner.uniform_(-(taken**-0.5), taken**-0.5, generator=generator)
            outer = MOVED * torch.randn(given, RANK, generator=generator, device=inner.device)
            module.weight += SCALING * outer @ inner


def _row(name: str, found: "torch.Tensor", exact: "torch.Tensor") -> Row:
    deviation = exact.std()
    rms = float((found - exact).pow(2).mean().sqrt() / deviation)
    largest = float((found - exact).abs().max() / deviation)
    same = float((found.argmax(-1) == exact.argmax(-1)).float().mean())
    return row_of(
        name,
        f"logits {rms:.4f} sd apart (rms), {largest:.3f} at most; {same:.1%} of greedy tokens the same",
        f"rms {MOST_APART} sd",
        {"rms": rms, "largest": largest, "greedy_same": same},
        within=rms <= MOST_APART,
    )
