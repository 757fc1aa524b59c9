"""Decoder shapes, the parameter counts that follow from them, and the shape of a run's model without a download."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, get_args

from schemas.errors import InputError

if TYPE_CHECKING:
    from schemas.config.policy import PolicyConfig

Kind = Literal["llama", "qwen2", "qwen3"]
SMALL: Final = 200_000_000
"""Parameters beyond which a training takes hours on two cores."""
BFLOAT16_BYTES: Final = 2
"""Bytes of a weight as models are published and served."""


@dataclass(frozen=True)
class DecoderShape:
    """Shape of a Llama-family decoder: gated feed-forward layers, rotary attention, RMS norms."""

    kind: Kind
    """Qwen2 has biases in attention, Qwen3 has norms of queries and keys, Llama has neither."""
    layers: int
    width: int
    """Hidden size."""
    heads: int
    key_value_heads: int
    head_size: int
    feed_forward: int
    vocabulary: int
    tied: bool
    """Whether the output head shares the input embeddings."""

    @property
    def query_width(self) -> int:
        """Return the width of all queries of a token."""
        return self.heads * self.head_size

    @property
    def key_width(self) -> int:
        """Return the width of all keys, or of all values, of a token."""
        return self.key_value_heads * self.head_size

    @property
    def linear_shapes(self) -> tuple[tuple[int, int], ...]:
        """Return (input, output) of a layer's linear maps: queries, keys, values, output; gate, up, down."""
        width, query, key, inner = self.width, self.query_width, self.key_width, self.feed_forward
        return (width, query), (width, key), (width, key), (query, width), *[(width, inner)] * 2, (inner, width)

    @property
    def linear_parameters(self) -> int:
        """Return the parameters that NF4 quantizes and the adapter adapts."""
        return self.layers * sum(taken * given for taken, given in self.linear_shapes)

    @property
    def other_parameters(self) -> int:
        """Return all other parameters: embeddings, norms, biases."""
        embeddings = self.vocabulary * self.width * (1 if self.tied else 2)
        own = {"llama": 0, "qwen2": self.query_width + 2 * self.key_width, "qwen3": 2 * self.head_size}[self.kind]
        return embeddings + self.layers * (2 * self.width + own) + self.width

    @property
    def parameters(self) -> int:
        """Return the total parameters."""
        return self.linear_parameters + self.other_parameters

    def adapter_parameters(self, rank: int) -> int:
        """Return the parameters of LoRA on all linear maps (2106.09685): r x (in + out) each."""
        return self.layers * sum(rank * (taken + given) for taken, given in self.linear_shapes)


_TUCANO: Final = {
    "0.5B": DecoderShape("qwen3", 28, 1024, 16, 8, 128, 3072, 49_152, tied=True),
    "1.5B": DecoderShape("qwen3", 28, 2048, 16, 8, 128, 6144, 49_152, tied=True),
    "3.7B": DecoderShape("qwen3", 36, 2560, 32, 8, 128, 9728, 49_152, tied=True),
}
"""Tucano2's sizes (2603.03543), each continually pretrained from a Qwen3 with a vocabulary of 49,152 in place of
151,936: Qwen3-0.6B, 1.7B and 4B, whose published configurations these are. The parameter counts are 490,799,104, the
number on the model card of 0.5B; 1,510,073,344; and 3,759,341,056, matching the names 1.5B and 3.7B."""
KNOWN_SHAPES: Final = {
    f"Polygl0t/Tucano2-qwen-{size}-{variant}": shape
    for size, shape in _TUCANO.items()
    for variant in ("Base", "Instruct", "Think")
}
"""Models whose shape is known without their files."""


def read_shape(policy: "PolicyConfig") -> DecoderShape | None:
    """Return the shape of a policy (stand-in, folder, downloaded or known model), or None.

    Raises:
        InputError: The name is a path without a model, or its config.json cannot be read.
    """
    from tasks.policy.stand_in import shipped  # imports pydantic, which the check of a GPU goes without

    file = shipped() / "config.json" if policy.stand_in else _config_file(policy.name, policy.revision)
    if file is None:
        return KNOWN_SHAPES.get(policy.name)
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        if values["model_type"] not in get_args(Kind):
            return None
        heads, width = values["num_attention_heads"], values["hidden_size"]
        return DecoderShape(
            kind=values["model_type"],
            layers=values["num_hidden_layers"],
            width=width,
            heads=heads,
            key_value_heads=values.get("num_key_value_heads") or heads,
            head_size=values.get("head_dim") or width // heads,
            feed_forward=values["intermediate_size"],
            vocabulary=values["vocab_size"],
            tied=values.get("tie_word_embeddings", False),
        )
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{file} does not describe a model; give the folder of a downloaded one") from None


def _config_file(name: str, revision: str | None) -> Path | None:
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder / "config.json"
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        cached = try_to_load_from_cache(name, "config.json", revision=revision)
    except HFValidationError:
        raise InputError(
            f"policy.name {name!r} is neither a folder nor a hub name; give the folder of a downloaded model, or a "
            "name such as Polygl0t/Tucano2-qwen-0.5B-Instruct"
        ) from None
    return Path(cached) if isinstance(cached, str) else None
