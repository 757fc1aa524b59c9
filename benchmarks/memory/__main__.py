"""Memory kept for the backward pass: the estimate of `tucano train --dry-run` against measured bytes.

A decoder of Tucano2-0.5B's exact shape with random weights in bfloat16 and a float32 adapter on all linear layers runs
forward under bfloat16 autocast, on a CPU. Hooks on saved tensors (`torch.autograd.graph.saved_tensors_hooks`) count
each storage once, and not the model's own. With checkpointing the layers keep their inputs; the layer that is computed
again in the backward pass keeps what it keeps without. Limit: 15 % between estimate and measurement.
"""

import sys
from argparse import Namespace
from typing import Final

from benchmarks.harness import Report, run_benchmark
from benchmarks.memory.measurement import compare
from schemas.config.train import GradientCheckpointing
from tasks.train.sizing.decoder_shape import KNOWN_SHAPES

NAME: Final = "Polygl0t/Tucano2-qwen-0.5B-Instruct"
ROWS, TOKENS = 2, 96
CHECKPOINTING: Final[tuple[GradientCheckpointing, ...]] = ("none", "torch")
MOST_APART: Final = 0.15
"""Largest difference of estimate and measurement, as a share of the measurement."""


def measure(report: Report, _: Namespace) -> None:
    """Measure the whole model with and without checkpointing."""
    compared = [compare(KNOWN_SHAPES[NAME], checkpointing, ROWS, TOKENS) for checkpointing in CHECKPOINTING]
    bytes_forms = {"measured MB": ",.1f", "estimated MB": ",.1f", "apart": "+.1%", "kB a token": ",.1f"}
    report.table(
        f"Kept for the backward pass by {NAME}, {ROWS} x {TOKENS} tokens",
        {"checkpointing": "", "layers": "", **bytes_forms},
        [
            (one.checkpointing, one.layers, one.measured / 1e6, one.estimated / 1e6, one.apart,
             one.measured / ROWS / TOKENS / 1e3)
            for one in compared
        ],
    )  # fmt: skip
    for one in compared:
        miss = f"with checkpointing {one.checkpointing} the estimate is {one.apart:+.1%} off, limit {MOST_APART:.0%}"
        report.limit(abs(one.apart) <= MOST_APART, miss)


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure))
