"""Environment: importable libraries, their versions, and whether kernels of the binary wheels run here."""

import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from benchmarks.gpu_check.row import Row, Verdict, row_of
from benchmarks.gpu_check.scale import SEED, Scale

CONSTRAINTS: Final = Path(__file__).resolve().parents[2] / "constraints" / "trainer-linux-cuda.txt"
PIN: Final = re.compile(r"^([\w.-]+)==([\w.]+)", re.MULTILINE)
PACKAGES: Final = (
    "torch", "transformers", "accelerate", "datasets", "peft", "trl", "bitsandbytes", "triton", "unsloth",
    "unsloth_zoo", "vllm",
)  # fmt: skip
IMPORTED: Final = ("unsloth", "trl", "peft", "bitsandbytes", "vllm")
"""Unsloth first, which replaces parts of the others."""
NF4_ERROR: Final = 0.12
"""Largest root mean square error of a product with NF4 weights, as a share of the exact product's: the quantization
of normal weights alone makes 0.09."""
SMALLER_ERROR: Final = 0.02
"""The same between two ways to compute the product with the same quantized weights: bfloat16 makes some thousandths."""


def measure(scale: Scale, _work: Path) -> Iterator[Row]:
    """Yield what is installed, and whether it works."""
    yield _versions()
    if scale.on_gpu:
        yield _card()
    yield _imports()
    yield _quantized_product(scale)
    yield _triton_kernel(scale)


def _versions() -> Row:
    pinned = dict(PIN.findall(CONSTRAINTS.read_text(encoding="utf-8")))
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name).split("+")[0]
        except metadata.PackageNotFoundError:
            found[name] = ""
    absent = [name for name, version in found.items() if not version]
    others = [
        f"{name} {version} for {pinned[name.replace('_', '-')]}"
        for name, version in found.items()
        if version and version != pinned[name.replace("_", "-")]
    ]
    same = len(PACKAGES) - len(absent) - len(others)
    parts = [f"{same} of {len(PACKAGES)} as pinned", *others]
    parts += [f"not installed: {', '.join(absent)}"] * bool(absent)
    # An environment other than the trainer's is no fault.
    verdict: Verdict = "not here" if absent else "MISSED" if others else "ok"
    return Row("versions", "; ".join(parts), "constraints/trainer-linux-cuda.txt", verdict, found)


def _card() -> Row:
    import torch

    card = torch.cuda.get_device_properties(0)
    figures = {"bytes": card.total_memory, "capability": f"{card.major}.{card.minor}", "cuda": torch.version.cuda}
    measured = f"{card.name}, {card.total_memory / 1e9:.1f} GB, CUDA {torch.version.cuda}, torch {torch.__version__}"
    return row_of("card", measured, "computes in bfloat16", figures, within=torch.cuda.is_bf16_supported())


def _imports() -> Row:
    present = [name for name in IMPORTED if find_spec(name) is not None]
    if not present:
        return Row("imports", "none of " + ", ".join(IMPORTED), "", "not here")
    # In a process of its own: Unsloth's replacements must not affect the other checks.
    code = "; ".join(f"import {name}" for name in present)
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    said = child.stderr.strip().splitlines()[-1:] if child.returncode else [", ".join(present)]
    return row_of("imports", said[0] if said else "killed", "no error", within=child.returncode == 0)


def _quantized_product(scale: Scale) -> Row:
    name = "kernel of bitsandbytes"
    if find_spec("bitsandbytes") is None:
        return Row(name, "bitsandbytes is not installed", "", "not here")
    import torch
    from bitsandbytes.functional import dequantize_4bit, quantize_4bit

    matmul_4bit = importlib.import_module("bitsandbytes").matmul_4bit
    dtype = torch.bfloat16 if scale.on_gpu else torch.float32
    generator = torch.Generator().manual_seed(SEED)
    weight = torch.randn(512, 512, generator=generator).to(scale.device, dtype)
    given = torch.randn(64, 512, generator=generator).to(scale.device, dtype)
    packed, state = quantize_4bit(weight, quant_type="nf4")
    by_hand = given @ dequantize_4bit(packed, state).t().to(dtype)
    exact = given @ weight.t()
    to_exact = _apart(by_hand, exact)
    to_hand = _apart(matmul_4bit(given, packed.t(), quant_state=state), by_hand)
    return row_of(
        name,
        f"NF4 product {to_exact:.3f} from the exact one, {to_hand:.1e} from the dequantized one",
        f"{NF4_ERROR}, {SMALLER_ERROR}",
        {"nf4_error": to_exact, "kernel_error": to_hand},
        within=to_exact <= NF4_ERROR and to_hand <= SMALLER_ERROR,
    )


def _apart(found: "torch.Tensor", wanted: "torch.Tensor") -> float:  # type: ignore[name-defined] # noqa: F821
    return float((found - wanted).float().pow(2).mean().sqrt() / wanted.float().pow(2).mean().sqrt())


def _triton_kernel(scale: Scale) -> Row:
    name = "kernel of Triton"
    if find_spec("triton") is None or not scale.on_gpu:
        return Row(name, "Triton or a GPU is missing", "", "not here")
    from benchmarks.gpu_check.triton_kernel import largest_error

    error = largest_error(SEED)
    return row_of(name, f"compiled; sum of two vectors off by {error:g}", "0", within=error == 0)
