"""Environment: importable libraries and their versions, and the card."""

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from benchmarks.gpu_check.base import Row, Scale, Verdict, row_of

CONSTRAINTS: Final = Path(__file__).resolve().parents[2] / "constraints" / "trainer-linux-cuda.txt"
PIN: Final = re.compile(r"^([\w.-]+)==([\w.]+)", re.MULTILINE)
PACKAGES: Final = (
    "torch", "transformers", "accelerate", "datasets", "peft", "trl", "bitsandbytes", "triton", "unsloth",
    "unsloth_zoo", "vllm",
)  # fmt: skip
IMPORTED: Final = ("unsloth", "trl", "peft", "bitsandbytes", "vllm")
"""Unsloth first, which replaces parts of the others."""


def measure(scale: Scale, _work: Path) -> Iterator[Row]:
    """Yield what is installed, and whether it can be imported."""
    yield _versions()
    if scale.on_gpu:
        yield _card()
    yield _imports()


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
