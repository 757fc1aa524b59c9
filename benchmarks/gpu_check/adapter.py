"""Adapter on NF4 weights in transformers: in float32 small steps move it; in bfloat16 most of them would round away."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.gpu_check.child import OBSERVED_FILE
from benchmarks.gpu_check.inputs import recipe_of, request_of
from benchmarks.gpu_check.row import Row, row_of
from benchmarks.gpu_check.scale import Scale
from benchmarks.gpu_check.trained import WATCHED, train
from benchmarks.gpu_check.training import KILLED, observed_rows, speed_row
from schemas.config.profiles import load_config

TRAINING: Final = "adapter"
NAME: Final = "transformers NF4"
LEAST_MOVED: Final = 0.9
"""Least share of the first factors' entries that move; in bfloat16 6 % ever did."""

MOST_APART: Final = 0.05
"""Largest difference of two backends' losses, as a share of one."""


def measure(scale: Scale, work: Path) -> Iterator[Row]:
    """Yield the adapter's type, and how much of it moves at the recipe's own learning rate."""
    steps = 4 if scale.is_tiny else 8
    rate = load_config("l4").train.learning_rate
    recipe = recipe_of(
        scale,
        "l4",
        backend="transformers",
        max_steps=steps,
        learning_rate=rate,
        max_completion_tokens=32,
        evaluate_every=steps,
        save_every=steps,
    )
    trained = train(scale, request_of(scale, work, TRAINING, recipe), work / TRAINING, WATCHED)
    observed = trained.observed
    if scale.on_gpu:
        # On a CPU these are from the training group.
        yield from observed_rows(NAME, observed)
        yield from _loss_row(observed["fixed_loss"], work)
    share, types = observed["moved_share"], observed["adapter_types"]
    yield row_of(
        f"adapter, {NAME}",
        f"{' and '.join(types)}; {share:.1%} of A's entries moved in {steps} steps at {rate:g}",
        f"float32, {LEAST_MOVED:.0%}",
        {"types": types, "moved_share": share, "steps": steps},
        within=types == ["float32"] and share >= LEAST_MOVED,
    )
    yield speed_row(f"{NAME}, 32 tokens", trained, max(observed["peaks"].values(), default=None), scale)


def _loss_row(loss: float, work: Path) -> Iterator[Row]:
    """Yield the difference of a fixed batch's loss from that of the training before, by Unsloth where installed."""
    file = work / KILLED / OBSERVED_FILE
    if file.exists():
        other = json.loads(file.read_text(encoding="utf-8"))["fixed_loss"]
        yield row_of(
            "loss of a fixed batch",
            f"{loss:+.5f} by {NAME}, {other:+.5f} in the training before",
            f"{MOST_APART:.0%} apart",
            {"transformers": loss, "before": other},
            within=abs(loss - other) <= MOST_APART * abs(other),
        )
