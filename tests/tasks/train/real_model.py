"""Small real models of each kind of decoder."""

from typing import Any


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
