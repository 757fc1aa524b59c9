"""Shape of a run's model, as far as it is known without a download."""

import json
import math
from pathlib import Path
from typing import get_args

from schemas.config.policy import PolicyConfig
from schemas.errors import InputError
from tasks.policy.stand_in import shipped
from tasks.train.sizing.decoder_shape import KNOWN_SHAPES, DecoderShape, Kind


def read_shape(policy: PolicyConfig) -> DecoderShape | None:
    """Return the shape of a policy (stand-in, folder, downloaded or known model), or None.

    Raises:
        InputError: The name is a path without a model, or its config.json cannot be read.
    """
    file = shipped() / "config.json" if policy.stand_in else _config_file(policy.name, policy.revision)
    return KNOWN_SHAPES.get(policy.name) if file is None else _shape_in(file)


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


def _shape_in(file: Path) -> DecoderShape | None:
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
            head_size=values.get("head_dim") or math.floor(width / heads),
            feed_forward=values["intermediate_size"],
            vocabulary=values["vocab_size"],
            tied=values.get("tie_word_embeddings", False),
        )
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{file} does not describe a model; give the folder of a downloaded one") from None
