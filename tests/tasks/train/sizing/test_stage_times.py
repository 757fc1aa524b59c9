"""Times of a whole retraining: which stages there are, and what each follows."""

import pytest

from schemas.config.profiles import load_config
from tasks.train.sizing.decoder_shape import KNOWN_SHAPES
from tasks.train.sizing.model_shape import read_shape
from tasks.train.sizing.speed import sampling_seconds
from tasks.train.sizing.stage_times import LOADING, StageTime, sampler_times, stage_times, training_seconds

SHAPE = KNOWN_SHAPES["Polygl0t/Tucano2-qwen-0.5B-Instruct"]


def times(profile: str, *overrides: str) -> dict[str, StageTime]:
    config = load_config(profile, overrides)
    shape = read_shape(config.policy)
    assert shape is not None
    return {stage.name: stage for stage in stage_times(config, {"extraction": 600, "push": 600}, shape)}


def test_a_retraining_on_a_card_has_every_stage_that_costs() -> None:
    stages = times("l4", "train.seeds=[1, 2]", "warm_start.steps=10")
    assert list(stages) == [
        "synthesize, curate", "start-up of the GPU's machine", "base: SFT", "audit sampling", "preflight, 2 times",
        "train, seed 1", "train, seed 2", "merge", "answers of 6 models to 35 test prompts",
        "general instructions: 360 answers", "rungs: 70 answers, SFT on 3616", "evaluate", "promote",
    ]  # fmt: skip
    on_cpu = {name for name, stage in stages.items() if stage.machine == "cpu"}
    assert on_cpu == {"synthesize, curate", "evaluate", "promote"}
    assert all(stage.seconds for stage in stages.values())


def test_a_laptop_has_no_start_up_and_no_gpu() -> None:
    stages = times("local")
    assert {stage.machine for stage in stages.values()} == {"cpu"}
    assert "start-up of the GPU's machine" not in stages
    # Five steps of sixteen answers, each as long as one of the rung `sft` took.
    assert stages["base"].seconds == pytest.approx(5 * 16 * 60.7 / 1280)


def test_a_rung_costs_an_answer_to_each_prompt() -> None:
    assert times("l4", 'evaluate.rungs=["base-guided"]')["rungs: 35 answers"].seconds
    assert not any(name.startswith("rungs") for name in times("l4", "evaluate.rungs=[]"))


def test_general_instructions_are_counted_where_they_are_asked() -> None:
    assert not any(name.startswith("general") for name in times("l4", "evaluate.general=off"))
    asked = times("local", "evaluate.general=report")["general instructions: 360 answers"].seconds
    assert asked == pytest.approx(360 * 6.9 / 240)
    assert not any(name.startswith("general") for name in times("local"))


def test_stages_that_a_run_leaves_out_are_left_out() -> None:
    stages = times("l4", "audit.require_human=false")
    assert "audit sampling" not in stages
    assert "base: SFT" not in stages
    assert "merge" not in times("l4", "train.adapter_per_task=true", 'train.task_weights.applies_to="nothing"')


def test_a_single_preflight_is_not_counted() -> None:
    assert "preflight" in times("l4", "train.seeds=[1]")


def test_audit_sampling_answers_every_prompt_of_the_sheet() -> None:
    """Two tasks of 40 scores, two a prompt: 40 prompts, of 8 completions each and 64 at once, make five batches."""
    config = load_config("l4", ("evaluate.batch_size=64",))
    assert config.audit.prompts_per_task == 20
    sampled = times("l4", "evaluate.batch_size=64")["audit sampling"].seconds
    batch = sampling_seconds(SHAPE, "transformers", 64, config.train.max_completion_tokens)
    assert sampled == pytest.approx(LOADING + 5 * batch)


def test_a_figure_says_how_it_is_known() -> None:
    assert times("l4")["train, seed 42"].mark == "measured"
    assert times("l4", 'train.backend="transformers"')["train, seed 42"].mark == "estimated"
    assert times("l4", "train.vllm.enabled=true")["train, seed 42"].mark == "published"
    larger = times("l4", 'policy.name="Polygl0t/Tucano2-qwen-1.5B-Instruct"')["train, seed 42"]
    assert larger.mark == "estimated"


def test_fewer_steps_and_shorter_answers_take_less() -> None:
    config, half = load_config("l4"), load_config("l4", ("train.max_steps=750",))
    whole = training_seconds(config, SHAPE, "unsloth")
    assert training_seconds(half, SHAPE, "unsloth") == pytest.approx(whole / 2, rel=0.02)
    short = load_config("l4", ("train.max_completion_tokens=256",))
    assert training_seconds(short, SHAPE, "unsloth") == pytest.approx(training_seconds(config, SHAPE, "unsloth", 256))
    curriculum = ("train.curriculum=[{until_step=1500, max_completion_tokens=256}]", "train.evaluate_every=1500")
    plain = load_config("l4", ("train.evaluate_every=1500",))
    assert training_seconds(load_config("l4", curriculum), SHAPE, "unsloth") < training_seconds(plain, SHAPE, "unsloth")


def test_every_sampler_is_compared_but_for_a_stand_in_and_dpo() -> None:
    compared = {one.sampler: one for one in sampler_times(load_config("l4"), SHAPE)}
    assert set(compared) == {"transformers", "unsloth", "vllm"}
    assert all(one.short < one.longest for one in compared.values())
    assert compared["unsloth"].longest == pytest.approx(22.6 * 3600)
    assert not sampler_times(load_config("local"), SHAPE)
    assert not sampler_times(load_config("l4-next", ('train.algorithm="dpo"',)), SHAPE)
