"""Engine that draws completions on a CPU: each prompt computed once, and only rows that are not yet finished.

More than half of a short prompt is its system turn, computed once for all prompts of a draw that begin with it.
It runs transformers' own layers on the prompts, by an `unpacked` copy of the policy, and `DecoderStep` on each further
token. Keys and values are allocated once: a prompt's in one place for all its completions, and each completion's own
beside. In attention the completions of a prompt are one matrix product with the prompt's keys. A finished row is
overwritten by the last one.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch.nn.functional import linear

from tasks.policy.unpacked import unpacked

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class Choice(Protocol):
    """Choice of each row's next token."""

    def __call__(self, logits: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
        """Return the next token of each row, (rows,)."""

    def keep(self, places: Sequence[int]) -> None:
        """Go on with these rows alone, in this order."""


class Engine:
    """A policy as it is now, ready to draw."""

    def __init__(self, policy: Any) -> None:
        self.model: PreTrainedModel = unpacked(policy)
        self._step = DecoderStep(self.model.model)

    @torch.inference_mode()
    def draw(
        self, prompts: Sequence[Sequence[int]], choice: Choice, *, most: int, ends: Collection[int], least: int = 0
    ) -> list[list[int]]:
        """Return a completion of each prompt, its end included."""
        numbers = {prompt: number for number, prompt in enumerate(dict.fromkeys(map(tuple, prompts)))}
        group_of = [numbers[tuple(prompt)] for prompt in prompts]
        memory = KeysAndValues(self.model.config, list(map(len, numbers)), group_of, most)
        hidden = self._read(memory, list(numbers), ends)[torch.tensor(memory.group_of)]
        lengths = torch.tensor([len(prompt) for prompt in prompts])
        drawn: list[list[int]] = [[] for _ in prompts]
        rows = list(range(len(prompts)))
        last = torch.tensor([[prompt[-1]] for prompt in prompts])
        forbidden = torch.tensor(sorted(ends))
        for place in range(most):
            logits = self.model.lm_head(hidden)
            if place < least:
                logits[:, forbidden] = float("-inf")
            tokens = choice(logits, last)
            for row, token in zip(rows, tokens.tolist(), strict=True):
                drawn[row].append(token)
            kept = without([n for n, row in enumerate(rows) if drawn[row][-1] in ends], len(rows))
            if not kept or place == most - 1:
                break
            if len(kept) < len(rows):
                rows, tokens = [rows[n] for n in kept], tokens[kept]
                choice.keep(kept)
                memory.keep(kept)
            last = tokens.unsqueeze(1)
            hidden = self._step(tokens, lengths[rows] + place, memory.attend)
            memory.length += 1
        return drawn

    def _read(self, memory: "KeysAndValues", prompts: Sequence[tuple[int, ...]], ends: Collection[int]) -> torch.Tensor:
        """Compute prompts, and return the hidden state of each one's last token, (prompts, width).

        What a prompt shares with others by rule, its first turn, is computed by itself in any case, so that the numbers
        do not depend on whether one is there that shares it.
        """
        turns: dict[tuple[int, ...], int] = {}
        hidden = []
        for number, prompt in enumerate(prompts):
            turn = _first_turn(prompt, ends)
            memory.reads, memory.length = number, 0
            if turn in turns:
                memory.copy_prompt(turns[turn], len(turn))
            elif turn:
                _read_on(self.model, memory, turn)
                turns[turn] = number
            hidden.append(_read_on(self.model, memory, prompt[len(turn) :]))
        memory.length = 0
        return torch.cat(hidden)


def _first_turn(prompt: Sequence[int], ends: Collection[int]) -> tuple[int, ...]:
    """Return the tokens of a prompt's first turn, which other prompts may share; nothing where it has one turn only."""
    return tuple(prompt[: next((place + 1 for place, token in enumerate(prompt[:-1]) if token in ends), 0)])


def _read_on(model: Any, memory: "KeysAndValues", tokens: Sequence[int]) -> torch.Tensor:
    """Compute more tokens of a prompt, and return the last one's hidden state, (1, width)."""
    before, count = memory.length, len(tokens)
    mask: Any = torch.ones(1, 1, count, before + count, dtype=torch.bool).tril(before)
    if not before and model.config.model_type != "llama":
        # Causal attention without a mask, which is faster; transformers' Llama would make one from its own cache.
        mask = {"full_attention": None}
    positions = torch.arange(before, before + count).unsqueeze(0)
    hidden: torch.Tensor = model.model(
        input_ids=torch.tensor([tokens]),
        attention_mask=mask,
        position_ids=positions,
        past_key_values=memory,
        use_cache=True,
    ).last_hidden_state
    memory.length += count
    return hidden[:, -1]


class KeysAndValues:
    """Keys and values of some prompts and of their completions; for prompts it is the cache of transformers' layers."""

    is_compileable = False

    def __init__(self, config: Any, lengths: Sequence[int], group_of: Sequence[int], most: int) -> None:
        heads = config.num_key_value_heads
        size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        of_prompts, of_rows = (len(lengths), heads, max(lengths), size), (len(group_of), heads, most, size)
        layers = range(config.num_hidden_layers)
        # Zeros: what stands behind a short prompt has no weight, but must be a number.
        self._prompts = [(torch.zeros(of_prompts), torch.zeros(of_prompts)) for _ in layers]
        self._rows = [(torch.empty(of_rows), torch.empty(of_rows)) for _ in layers]
        self._mask = torch.where(torch.arange(max(lengths)) < torch.tensor(lengths)[:, None], 0.0, float("-inf"))
        self.group_of = list(group_of)
        self.reads = 0
        """Number of the prompt that is computed."""
        self.length = 0
        """Tokens of the prompt that is computed, or else of each completion, that are kept."""
        self._arrange()

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer: int, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Keep a layer's new keys and values of a prompt, (1, heads, tokens, size), and return all of the prompt."""
        own = [kept[self.reads, :, : self.length + keys.shape[2]] for kept in self._prompts[layer]]
        for kept, new in zip(own, (keys, values), strict=True):
            kept[:, self.length :] = new[0]
        return own[0].unsqueeze(0), own[1].unsqueeze(0)

    def copy_prompt(self, source: int, length: int) -> None:
        """Begin the prompt that is computed with so many tokens of another one."""
        for pair in self._prompts:
            for kept in pair:
                kept[self.reads, :, :length] = kept[source, :, :length]
        self.length = length

    def keep(self, places: Sequence[int]) -> None:
        """Go on with these rows alone, as `without` orders them, and with their prompts."""
        _move([kept[:, :, : self.length] for pair in self._rows for kept in pair], places)
        self.group_of = [self.group_of[place] for place in places]
        asked = set(self.group_of)
        count = len(self._mask)
        groups = without([group for group in range(count) if group not in asked], count)
        if len(groups) < count:
            _move([*(kept for pair in self._prompts for kept in pair), self._mask], groups)
            self._mask = self._mask[: len(groups)]
            new = {group: number for number, group in enumerate(groups)}
            self.group_of = [new[group] for group in self.group_of]
        self._arrange()

    def _arrange(self) -> None:
        """Find a place for each row in a rectangle of groups."""
        self._each = [0] * len(self._mask)
        lanes = []
        for group in self.group_of:
            lanes.append(self._each[group])
            self._each[group] += 1
        width = max(self._each)
        places = torch.zeros((len(self._mask), width), dtype=torch.long)
        for row, (group, lane) in enumerate(zip(self.group_of, lanes, strict=True)):
            places[group, lane] = row
        self._row_at = places
        self._place_of = torch.tensor(self.group_of) * width + torch.tensor(lanes)

    def attend(
        self, layer: int, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scaling: float
    ) -> torch.Tensor:
        """Keep a layer's keys and values of a new token of each row, and return the means of its attention.

        Queries and means are (rows, heads, size), keys and values (rows, key heads, size).
        """
        rows, heads, size = queries.shape
        groups, length = len(self._mask), self.length + 1
        for kept, new in zip(self._rows[layer], (keys, values), strict=True):
            kept[:rows, :, self.length] = new
        prompt_keys, prompt_values = (kept[:groups] for kept in self._prompts[layer])
        own_keys, own_values = (kept[:rows, :, :length] for kept in self._rows[layer])
        # Query heads that share a key are further rows of one product.
        asked = queries.view(rows, own_keys.shape[1], -1, size) * scaling
        to_prompt = self._by_row(self._by_group(asked) @ prompt_keys.mT + self._mask[:, None, None])
        weights = torch.cat([to_prompt, asked @ own_keys.mT], dim=-1).softmax(dim=-1)
        of_prompt, own = weights[..., :-length], weights[..., -length:]
        mean: torch.Tensor = self._by_row(self._by_group(of_prompt) @ prompt_values) + own @ own_values
        return mean.view(rows, heads, size)

    def _by_group(self, values: torch.Tensor) -> torch.Tensor:
        """Return values of (rows, heads, shared, size) as (groups, heads, rows of a group x shared, size)."""
        return values[self._row_at].transpose(1, 2).flatten(2, 3)

    def _by_row(self, values: torch.Tensor) -> torch.Tensor:
        groups, heads, _, size = values.shape
        by_lane = values.view(groups, heads, self._row_at.shape[1], -1, size)
        return by_lane.transpose(1, 2).flatten(0, 1)[self._place_of]


def without(places: Sequence[int], count: int) -> list[int]:
    """Return the places below `count` that are left without some, where the last ones fill the gaps."""
    left = list(range(count))
    for place in sorted(places, reverse=True):
        left[place] = left[-1]
        left.pop()
    return left


def _move(kept: Sequence[torch.Tensor], places: Sequence[int]) -> None:
    """Put rows in a new order, in place; a row comes from its own place or from behind those that are left."""
    for place, source in enumerate(places):
        if place != source:
            for values in kept:
                values[place] = values[source]


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
        self._decoder = decoder
        self._layers = [_Layer(number, layer) for number, layer in enumerate(decoder.layers)]
        self._norm = _norm_of(decoder.norm)

    def __call__(self, tokens: torch.Tensor, positions: torch.Tensor, attend: Attend) -> torch.Tensor:
        """Return the hidden state of each token, (rows, width)."""
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
