"""One more token of each row through a decoder's layers: their weights and operations, without their modules' calls.

In a small model's step, transformers' modules take a quarter of the time for themselves. Each number is theirs to the
bit: the same operations in the same order.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import linear

Attend = Callable[[int, torch.Tensor, torch.Tensor, torch.Tensor, float], torch.Tensor]
"""Keeps a layer's keys and values of the new tokens, and returns the attention of their queries: `KeysAndValues`."""


@dataclass(frozen=True)
class _Norm:
    """Root mean square norm (1910.07467)."""

    weight: torch.Tensor
    epsilon: float

    def __call__(self, values: torch.Tensor) -> torch.Tensor:
        variance = values.pow(2).mean(-1, keepdim=True)
        return self.weight * (values * torch.rsqrt(variance + self.epsilon))


class DecoderStep:
    """A decoder of one of the engine's families, in float32, for one token a row."""

    def __init__(self, decoder: Any) -> None:
        """Read the decoder, whose weights stay where they are."""
        self._decoder = decoder
        self._layers = [_Layer(number, layer) for number, layer in enumerate(decoder.layers)]
        self._norm = _norm_of(decoder.norm)

    def __call__(self, tokens: torch.Tensor, positions: torch.Tensor, attend: Attend) -> torch.Tensor:
        """Return the hidden state of each token, (rows, width).

        Args:
            tokens: The last token of each row, (rows,).
            positions: Its position, (rows,).
            attend: Attention to what is before it and to itself.
        """
        hidden = self._decoder.embed_tokens(tokens)
        cosines, sines = self._decoder.rotary_emb(hidden, positions.unsqueeze(1))
        # The second half of a head is added to its first with the opposite sign.
        first, second = sines.chunk(2, dim=-1)
        rotation = cosines, torch.cat([-first, second], dim=-1)
        for layer in self._layers:
            hidden = layer(hidden, rotation, attend)
        return self._norm(hidden)


class _Layer:
    """A decoder's layer."""

    def __init__(self, number: int, layer: Any) -> None:
        """Read a layer; its number is the attention's."""
        attention, feed_forward = layer.self_attn, layer.mlp
        self._number = number
        self._before_attention = _norm_of(layer.input_layernorm)
        self._before_feed_forward = _norm_of(layer.post_attention_layernorm)
        self._query, self._key, self._value, self._output = (
            _linear_of(module) for module in (attention.q_proj, attention.k_proj, attention.v_proj, attention.o_proj)
        )
        self._gate, self._up, self._down = (
            _linear_of(module) for module in (feed_forward.gate_proj, feed_forward.up_proj, feed_forward.down_proj)
        )
        self._query_norm, self._key_norm = (
            _norm_of(norm) if (norm := getattr(attention, name, None)) is not None else None
            for name in ("q_norm", "k_norm")
        )
        self._activation = feed_forward.act_fn
        self._size, self._scaling = attention.head_dim, attention.scaling

    def __call__(
        self, hidden: torch.Tensor, rotation: tuple[torch.Tensor, torch.Tensor], attend: Attend
    ) -> torch.Tensor:
        before = self._before_attention(hidden)
        queries, keys, values = (
            linear(before, *weights).view(len(hidden), -1, self._size)
            for weights in (self._query, self._key, self._value)
        )
        if self._query_norm is not None and self._key_norm is not None:
            queries, keys = self._query_norm(queries), self._key_norm(keys)
        heads = queries.shape[1]
        both = torch.cat([queries, keys], dim=1)
        both = both * rotation[0] + both.roll(self._size // 2, dims=-1) * rotation[1]
        mean = attend(self._number, both[:, :heads], both[:, heads:], values, self._scaling)
        hidden = hidden + linear(mean.reshape(len(hidden), -1), *self._output)
        before = self._before_feed_forward(hidden)
        gated = self._activation(linear(before, *self._gate)) * linear(before, *self._up)
        return hidden + linear(gated, *self._down)


def _norm_of(module: Any) -> _Norm:
    return _Norm(module.weight, module.variance_epsilon)


def _linear_of(module: Any) -> tuple[torch.Tensor, torch.Tensor | None]:
    return module.weight, module.bias
