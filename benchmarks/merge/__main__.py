"""Rounding of a merged model at full depth: the figure that `WRITTEN_TOLERANCE` of `tasks/policy/merge.py` rests on.

Models of Tucano2-0.5B's exact shape with random weights in bfloat16, of the usual initial deviation of 0.02 and of
twice that, get a LoRA adapter on all linear layers, which is merged, written in bfloat16 and read back. Limit: at most
half of the tolerance, so that bfloat16's own rounding never costs a policy that was trained for a day.
"""

import sys
import tempfile
import time
from argparse import Namespace
from pathlib import Path
from typing import Final

from benchmarks.gpu_check.inputs import write_base
from benchmarks.harness import Report, run_benchmark
from tasks.policy.generate import as_messages
from tasks.policy.merge import WRITTEN_TOLERANCE, MergeCheck, write_merged
from tasks.train.sizing.decoder_shape import KNOWN_SHAPES

MODEL: Final = "Polygl0t/Tucano2-qwen-0.5B-Instruct"
MOST_OF_TOLERANCE: Final = 0.5
INITIAL_DEVIATION: Final = 0.02
DOUBLINGS: Final = (0, 1)
RANK, ALPHA = 16, 32
ADAPTER_DEVIATION: Final = 0.02
"""Standard deviation of LoRA's B, which is zero before training."""
SEED: Final = 7
WORDS: Final = "O pedido chegou com atraso, mas o produto é ótimo e o vendedor respondeu no mesmo dia. "
PROMPTS: Final = [as_messages("Responda em português.", WORDS * (1 + number % 3)) for number in range(20)]


def measure(report: Report, _: Namespace) -> None:
    """Merge an adapter into each model."""
    rows = []
    for doublings in DOUBLINGS:
        with tempfile.TemporaryDirectory() as folder:
            started = time.monotonic()
            check = _merge(Path(folder), doublings)
        used = check.written_difference / WRITTEN_TOLERANCE
        deviation = INITIAL_DEVIATION * 2**doublings
        same, seconds = check.tokens_same_as_written / check.tokens, time.monotonic() - started
        rows.append((deviation, check.tokens, same, check.written_difference, WRITTEN_TOLERANCE, used, seconds))
        miss = f"weights of deviation {deviation:g} use {used:.0%} of the tolerance, limit {MOST_OF_TOLERANCE:.0%}"
        report.limit(used <= MOST_OF_TOLERANCE, miss)
    first = {"deviation of weights": "g", "tokens": "", "same token": ".1%", "rms, sd of a logit": ".4f"}
    title = f"{MODEL}'s shape, LoRA {RANK}/{ALPHA} merged and written in bfloat16"
    report.table(title, {**first, "tolerance": "g", "used": ".0%", "s": ".0f"}, rows)


def _merge(folder: Path, doublings: int) -> MergeCheck:
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    base, adapter = folder / "base", folder / "adapter"
    write_base(KNOWN_SHAPES[MODEL], base, [WORDS])
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.bfloat16)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                # Exact in bfloat16.
                parameter.mul_(2**doublings)
    model.save_pretrained(base)
    adapted = get_peft_model(model, LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules="all-linear"))
    generator = torch.Generator().manual_seed(SEED)
    with torch.no_grad():
        for name, parameter in adapted.named_parameters():
            if "lora_B" in name:
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * ADAPTER_DEVIATION)
    adapted.save_pretrained(adapter)
    del adapted, model
    return write_merged(base, adapter, folder / "merged", PROMPTS, remedy="see the figures")


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure))
