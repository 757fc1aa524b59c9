"""A step of a decoder: what transformers' own layers compute, to the bit."""

from typing import Any

import pytest
import torch
from torch import Tensor
from transformers.models.qwen3.modeling_qwen3 import apply_rotary_pos_emb

from tasks.policy.decoder_step import DecoderStep

TOKENS = torch.tensor([5, 9, 9, 40])
POSITIONS = torch.tensor([0, 3, 12, 700])


@pytest.fixture(scope="module", params=["qwen2", "qwen3"])
def decoder(request: pytest.FixtureRequest) -> Any:
    """A decoder with biases and norms that do something."""
    from transformers import AutoConfig, AutoModel

    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "num_hidden_layers": 2}
    size = {"vocab_size": 50, "hidden_size": 64, "intermediate_size": 96, "pad_token_id": 0}
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = AutoModel.from_config(AutoConfig.for_model(request.param, **size, **heads)).eval()
        for weight in model.parameters():
            weight.data.add_(0.1 * torch.randn_like(weight))
    return model.requires_grad_(requires_grad=False)


def test_hidden_states_are_those_of_the_layers(decoder: Any) -> None:
    """A token that sees itself alone takes its own value, whatever its query."""

    def itself(_layer: int, queries: Tensor, keys: Tensor, values: Tensor, _scaling: float) -> Tensor:
        return values.repeat_interleave(queries.shape[1] // keys.shape[1], dim=1)

    wanted = decoder(input_ids=TOKENS[:, None], position_ids=POSITIONS[:, None], use_cache=False).last_hidden_state
    assert torch.equal(DecoderStep(decoder)(TOKENS, POSITIONS, itself), wanted[:, 0])


def test_queries_and_keys_are_those_of_the_first_layer(decoder: Any) -> None:
    seen: dict[int, tuple[Tensor, Tensor, float]] = {}

    def see(number: int, queries: Tensor, keys: Tensor, _values: Tensor, scaling: float) -> Tensor:
        seen[number] = (queries, keys, scaling)
        return queries

    DecoderStep(decoder)(TOKENS, POSITIONS, see)
    layer = decoder.layers[0]
    hidden = decoder.embed_tokens(TOKENS[:, None])
    before = layer.input_layernorm(hidden)
    attention = layer.self_attn
    query, key = (
        getattr(attention, f"{name}_norm", torch.nn.Identity())(
            getattr(attention, f"{name}_proj")(before).view(len(TOKENS), 1, -1, 16)
        ).transpose(1, 2)
        for name in ("q", "k")
    )
    wanted = apply_rotary_pos_emb(query, key, *decoder.rotary_emb(hidden, POSITIONS[:, None]))
    assert sorted(seen) == [0, 1]
    assert torch.equal(seen[0][0], wanted[0][:, :, 0])
    assert torch.equal(seen[0][1], wanted[1][:, :, 0])
    assert seen[0][2] == attention.scaling
