"""Recipes that do not fit their card, and the settings that are named to whom that happens."""

import pytest

from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.errors import InputError
from tasks.train.sizing.fit import fits, memory_limit, refuse_unfit, stage_memory, training_memory, ways_to_fit
from tasks.train.sizing.model_shape import read_shape


def with_changes(profile: str, overrides: tuple[str, ...], change: dict[str, object]) -> Config:
    said = tuple(f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in change.items())
    return load_config(profile, (*overrides, *said))


UNFIT = {
    "one pass": ("train.accumulation=1",),
    "3.7B": ('policy.name="Polygl0t/Tucano2-qwen-3.7B-Instruct"',),
    "SFT in float32": ('policy.name="Polygl0t/Tucano2-qwen-3.7B-Base"', "warm_start.steps=10", "train.accumulation=32"),
}


@pytest.mark.parametrize("overrides", UNFIT.values(), ids=UNFIT.keys())
def test_what_does_not_fit_fits_with_each_way_that_is_named(overrides: tuple[str, ...]) -> None:
    config = load_config("l4", overrides)
    shape = read_shape(config.policy)
    assert shape is not None
    assert not fits(config, shape)
    ways = list(ways_to_fit(config, shape))
    assert 1 <= len(ways) <= 3
    for way in ways:
        quoted = {name: f'"{value}"' if isinstance(value, str) else value for name, value in way.items()}
        assert fits(with_changes("l4", overrides, quoted), shape)
        # No setting is changed in vain.
        for left_out in quoted:
            rest = {name: value for name, value in quoted.items() if name != left_out}
            assert not fits(with_changes("l4", overrides, rest), shape)


def test_the_smallest_change_is_named() -> None:
    """At most 4 of 32 completions a pass: half as many parts would not do."""
    config = load_config("l4", ("train.accumulation=1",))
    shape = read_shape(config.policy)
    assert shape is not None
    parts = next(way["train.accumulation"] for way in ways_to_fit(config, shape) if set(way) == {"train.accumulation"})
    assert fits(load_config("l4", (f"train.accumulation={parts}",)), shape)
    assert not fits(load_config("l4", (f"train.accumulation={parts // 2}",)), shape)


def test_a_recipe_that_does_not_fit_is_refused_with_its_remedies() -> None:
    with pytest.raises(InputError) as refused:
        refuse_unfit(load_config("l4", ("train.accumulation=1",)))
    sentence = str(refused.value)
    assert sentence.startswith("training would take ")
    assert "and of train.device_memory_gb 24 it may take 22.1" in sentence
    assert "set train.accumulation=8, or train.gradient_checkpointing='unsloth'" in sentence


def test_what_no_setting_makes_fit_is_reported_as_such() -> None:
    with pytest.raises(InputError, match="train on a larger GPU, or a smaller model"):
        refuse_unfit(load_config("l4", ("train.device_memory_gb=0.5",)))


def test_nothing_is_compared_without_a_card_or_a_shape() -> None:
    refuse_unfit(load_config("local"))
    refuse_unfit(load_config("l4", ("policy.name=nobody/has-fetched-this", "train.accumulation=1")))


def test_a_batch_of_answers_that_is_too_large_is_split_and_fits() -> None:
    config = load_config("l4", ("evaluate.batch_size=5000", "curate.validation_per_task=120"))
    shape = read_shape(config.policy)
    assert shape is not None
    assert fits(config, shape)
    assert stage_memory(config, shape)["answering"] == pytest.approx(memory_limit(config), rel=0.01)
    assert training_memory(config, shape).moment == "validation"


def test_the_preflights_own_share_is_the_limit() -> None:
    config = load_config("l4", ("train.preflight.max_memory_share=0.5",))
    assert memory_limit(config) == 12e9
    shape = read_shape(config.policy)
    assert shape is not None
    assert not fits(config, shape)
    assert stage_memory(config, shape)["training"] > 12e9


def test_each_stage_that_needs_weights_is_compared() -> None:
    config = load_config("l4", ("warm_start.steps=1",))
    shape = read_shape(config.policy)
    assert shape is not None
    assert set(stage_memory(config, shape)) == {"training", "answering", "merging", "SFT"}
    apart = load_config("l4", ("train.adapter_per_task=true", 'train.task_weights.applies_to="nothing"'))
    assert set(stage_memory(apart, shape)) == {"training", "answering"}


def test_a_merge_that_a_card_has_no_room_for_is_refused() -> None:
    """3.7B weights in float32 take 15 GB, and 20 prompts of 1,024 tokens beside them 6 GB more."""
    config = load_config("l4-3.7b", ("curate.max_prompt_tokens=1024",))
    shape = read_shape(config.policy)
    assert shape is not None
    sizes = stage_memory(config, shape)
    assert max(sizes, key=lambda stage: sizes[stage]) == "merging"
    with pytest.raises(InputError, match=r"^merging would take 22\.8 GB.*; set curate\.max_prompt_tokens="):
        refuse_unfit(config)
