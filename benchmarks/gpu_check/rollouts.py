"""Training of `l4-next` with rollouts by vLLM: speed, memory, log-probabilities, and the base after it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.gpu_check.base import Row, Scale, row_of
from benchmarks.gpu_check.inputs import STEPS, recipe_of, request_of
from benchmarks.gpu_check.training import WATCHED, Trained, preflight_row, speed_row, train
from schemas.config.profiles import load_config

PROFILE: Final = "l4-next"
TRAINING: Final = "vllm"
TOKENS: Final = 256
MAX_DIFFERENCE: Final = 0.05
"""Largest mean difference of a token's log-probability, in nats: bfloat16 in two implementations makes some
hundredths."""
DIFFERENCE: Final = "sampling/sampling_logp_difference"


def measure(scale: Scale, work: Path) -> Iterator[Row]:
    """Yield the checks of vLLM in a training with the profile's own settings, but for its share of a larger GPU."""
    own = load_config(PROFILE).train.vllm
    recipe = recipe_of(
        scale,
        PROFILE,
        vllm={**own.model_dump(), "enabled": True, "memory_share": own.memory_share * scale.share},
        # The other half of the groups have no learning signal, and are sampled again.
        guided_correction={"share": 0.5, "threshold": 1.0},
        # Random weights end no answer, and masked ones have no log-probability to compare.
        mask_truncated=False,
        max_completion_tokens=48 if scale.is_tiny else TOKENS,
        evaluate_every=STEPS,
        save_every=STEPS,
    )
    trained = train(scale, request_of(scale, work, TRAINING, recipe), work / TRAINING, WATCHED)
    yield preflight_row(f"preflight, {PROFILE}", work / TRAINING)
    yield from sampling_rows(trained)
    yield speed_row(f"steps, vLLM {'asleep' if own.sleep else 'awake'} in updates", trained, trained.observed, scale)


def sampling_rows(trained: Trained) -> Iterator[Row]:
    """Yield whether flat groups were sampled again, log-probabilities agree, and the base is unchanged."""
    resampled = max(metrics.get("sampling/resampled_groups", 0.0) for metrics in trained.metrics.values())
    yield row_of(
        "dynamic sampling, vLLM", f"{resampled:.0f} groups sampled again in {STEPS} steps", "1 or more",
        {"resampled_groups": resampled}, within=resampled >= 1,
    )  # fmt: skip
    mean, largest = trained.mean(f"{DIFFERENCE}/mean"), trained.mean(f"{DIFFERENCE}/max")
    yield row_of(
        "log-probabilities, vLLM",
        f"{mean:.4f} nats from the trainer's on average, {largest:.2f} at most" if mean is not None else "not reported",
        f"{MAX_DIFFERENCE} on average, not 0",
        {"mean": mean, "largest": largest},
        within=mean is not None and 0 < mean <= MAX_DIFFERENCE,
    )
    same = trained.observed["base_before"] == trained.observed["base_after"]
    yield row_of(
        "base weights, vLLM", "as before, bit for bit" if same else "changed by the training", "as before",
        within=same,
    )  # fmt: skip
