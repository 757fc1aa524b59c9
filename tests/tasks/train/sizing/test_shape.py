"""Shapes against what real small models have, and against published numbers."""

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.config.policy import PolicyConfig
from schemas.errors import InputError
from tasks.train.sizing.shape import KNOWN_SHAPES, read_shape


def real_model(kind: str, layers: int, *, tied: bool = True) -> Any:
    import transformers

    shape = {
        "vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": layers,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16 if kind == "qwen3" else 8,
        "tie_word_embeddings": tied, "attn_implementation": "sdpa",
    }  # fmt: skip
    name = {"llama": "Llama", "qwen2": "Qwen2", "qwen3": "Qwen3"}[kind]
    config = getattr(transformers, f"{name}Config")(**shape)
    return getattr(transformers, f"{name}ForCausalLM")(config)


@pytest.mark.parametrize("kind", ["llama", "qwen2", "qwen3"])
@pytest.mark.parametrize("tied", [True, False])
def test_weights_and_adapter_are_those_of_a_real_model(kind: str, tied: bool, tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model

    model = real_model(kind, 2, tied=tied)
    model.config.save_pretrained(tmp_path)
    shape = read_shape(PolicyConfig(name=str(tmp_path)))
    assert shape is not None
    assert shape.parameters == model.num_parameters()
    adapted = get_peft_model(model, LoraConfig(r=3, target_modules="all-linear"))
    assert shape.adapter_parameters(3) == adapted.get_nb_trainable_parameters()[0]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        # Of its model card.
        ("Tucano2-qwen-0.5B-Instruct", 490_799_104),
        ("Tucano2-qwen-0.5B-Base", 490_799_104),
        # Of Qwen3-1.7B and Qwen3-4B, less 102,784 entries of the vocabulary.
        ("Tucano2-qwen-1.5B-Instruct", 1_720_574_976 - 102_784 * 2_048),
        ("Tucano2-qwen-3.7B-Base", 4_022_468_096 - 102_784 * 2_560),
    ],
)
def test_the_products_models_have_the_weights_that_are_published(name: str, parameters: int) -> None:
    assert KNOWN_SHAPES[f"Polygl0t/{name}"].parameters == parameters


@pytest.mark.parametrize("name", ["/models/absent", "./absent", "one/too/many", "no hub name"])
def test_a_path_without_a_model_is_named(name: str) -> None:
    with pytest.raises(InputError, match=f"policy.name '{name}' is neither a folder nor a hub name"):
        read_shape(PolicyConfig(name=name))


@pytest.mark.parametrize("content", [None, "{", "[]", json.dumps({"model_type": "qwen2"})])
def test_a_folder_that_describes_no_model_is_named(content: str | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    with pytest.raises(InputError, match=r"config\.json does not describe a model"):
        read_shape(PolicyConfig(name=str(tmp_path)))
