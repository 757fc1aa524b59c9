"""The check of a card has run, at a tiny shape, before there is a card; and says so where there is none."""

import math
from pathlib import Path

import pytest
import torch

from benchmarks import gpu_check
from benchmarks.gpu_check import PLANS, Figures, measure, planned, write_base
from schemas.profiles import load_config
from tasks.train.estimate import KNOWN_SHAPES, DecoderShape

TINY = DecoderShape(
    "qwen3", layers=1, width=32, heads=2, key_value_heads=1, head_size=16, feed_forward=64, vocabulary=512, tied=True
)


def test_two_steps_of_the_whole_check_on_a_tiny_model(tmp_path: Path) -> None:
    write_base(TINY, tmp_path / "base")
    recipe = planned(load_config("l4").train, "transformers", 3).model_copy(
        update={"generations": 2, "accumulation": 2, "max_completion_tokens": 16}
    )
    figures = measure(tmp_path / "base", recipe, 96, tmp_path / "work")
    assert math.isfinite(figures.loss)
    assert figures.loss != 0
    assert figures.seconds_a_step > 0
    assert figures.sampled_a_second > 0


def test_the_model_has_tucanos_exact_number_of_weights() -> None:
    from transformers import Qwen3Config, Qwen3ForCausalLM

    shape = KNOWN_SHAPES[load_config("l4").policy.name]
    with torch.device("meta"):
        model = Qwen3ForCausalLM(
            Qwen3Config(
                vocab_size=shape.vocabulary, hidden_size=shape.width, intermediate_size=shape.feed_forward,
                num_hidden_layers=shape.layers, num_attention_heads=shape.heads,
                num_key_value_heads=shape.key_value_heads, head_dim=shape.head_size, tie_word_embeddings=shape.tied,
            )
        )  # fmt: skip
    assert model.num_parameters() == shape.parameters == 490_799_104


@pytest.mark.parametrize("plan", PLANS)
def test_every_plan_is_a_recipe_that_its_backend_can_train(plan: str) -> None:
    recipe = planned(load_config("l4").train, plan, 20)
    assert (recipe.max_steps, recipe.completions_per_step, recipe.accumulation) == (20, 32, 8)


def test_a_loss_apart_and_a_full_card_are_missed(capsys: pytest.CaptureFixture[str]) -> None:
    measured = {
        "transformers": Figures(0.100, 1.0, 1.0, 11.0),
        "Unsloth": Figures(0.110, 1.0, 1.0, 25.0),
        "transformers + vLLM": Figures(0.5, 1.0, 1.0, 23.0),
        "Unsloth + vLLM": Figures(float("nan"), 1.0, 1.0, 20.0),
    }
    gpu_check._print(measured, "a card")
    shown = capsys.readouterr().out
    assert all(plan in shown for plan in measured)
    misses = gpu_check._misses(measured)
    assert len(misses) == 3
    assert "Unsloth holds 25.0 GB" in misses[0]
    assert misses[1].startswith("Unsloth has a loss of +0.11000 where transformers has +0.10000")
    assert misses[2].startswith("Unsloth + vLLM has a loss of +nan")


def test_without_a_gpu_one_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr("sys.argv", ["gpu_check"])
    assert gpu_check.main() == 2
    assert " ".join(capsys.readouterr().err.split()).startswith("there is no GPU here, so nothing was checked")


def test_on_a_larger_card_vllm_takes_no_more_than_of_the_recipes_own() -> None:
    recipe = load_config("l4").train
    larger = planned(recipe, "Unsloth + vLLM", 20, card_gigabytes=96.0)
    assert larger.vllm.memory_share == pytest.approx(recipe.vllm.memory_share / 4)
    assert planned(recipe, "Unsloth + vLLM", 20).vllm.memory_share == recipe.vllm.memory_share
