"""Speeds against the published sweep and the measured run that they are from."""

import pytest

from schemas.config.train import TrainConfig
from tasks.train.sizing import speed
from tasks.train.sizing.decoder_shape import KNOWN_SHAPES, DecoderShape

SMALL, MIDDLE, LARGE = (KNOWN_SHAPES[f"Polygl0t/Tucano2-qwen-{size}-Instruct"] for size in ("0.5B", "1.5B", "3.7B"))
QWEN = DecoderShape("qwen2", 24, 896, 14, 2, 64, 4864, 151_936, tied=True)
"""Qwen2.5-0.5B, which the sweep served."""


@pytest.mark.parametrize(("sequences", "published"), [(1, 168), (8, 1_312), (16, 2_277), (32, 3_773)])
def test_vllm_is_as_fast_as_in_the_published_sweep(
    sequences: int, published: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prompts of 256 tokens and answers of 128; tokens of answers a second."""
    monkeypatch.setattr(speed, "PROMPT_TOKENS", 256)
    assert sequences * 128 / speed.sampling_seconds(QWEN, "vllm", sequences, 128) == pytest.approx(published, rel=0.16)


def test_transformers_takes_twice_as_long_as_unsloth_and_vllm_least() -> None:
    seconds = {sampler: speed.sampling_seconds(SMALL, sampler, 32, 512) for sampler in speed.SAMPLERS}
    assert seconds["transformers"] == 2 * seconds["unsloth"]
    assert seconds["vllm"] < seconds["unsloth"]


def test_a_larger_model_takes_longer_with_each_sampler() -> None:
    for sampler in speed.SAMPLERS:
        small, middle, large = (speed.sampling_seconds(shape, sampler, 32, 512) for shape in (SMALL, MIDDLE, LARGE))
        assert small <= middle < large


def test_an_update_takes_its_operations() -> None:
    """2 prompts x 16 completions of 150 + 100 tokens; four operations a weight, six with checkpointing."""
    recipe = {"prompts_per_step": 2, "generations": 16}
    plain = speed.update_seconds(SMALL, TrainConfig.model_validate(recipe), 100)
    assert plain == pytest.approx(32 * 250 * 4 * 490_799_104 / 12.1e12)
    again = speed.update_seconds(SMALL, TrainConfig.model_validate(recipe | {"gradient_checkpointing": "torch"}), 100)
    assert again == pytest.approx(1.5 * plain)
    twice = speed.update_seconds(SMALL, TrainConfig.model_validate(recipe | {"iterations": 2}), 100)
    assert twice == pytest.approx(1.5 * plain)


def test_processes_divide_an_update() -> None:
    recipe = {"prompts_per_step": 2, "generations": 16}
    alone = speed.update_seconds(SMALL, TrainConfig.model_validate(recipe), 100)
    two = speed.update_seconds(SMALL, TrainConfig.model_validate(recipe | {"processes": 2}), 100)
    assert two == pytest.approx(alone / 2)


def test_dpo_has_vllm_sample_nothing() -> None:
    vllm = {"vllm": {"enabled": True}, "load_in_4bit": False}
    assert speed.sampler_of(TrainConfig.model_validate(vllm)) == "vllm"
    assert speed.sampler_of(TrainConfig.model_validate(vllm | {"algorithm": "dpo"})) == "transformers"
