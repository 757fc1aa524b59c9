"""What Unsloth makes of a tokenizer that it reads a second time, and of the model beside it, as JSON.

A process in `.venv-unsloth`. Unsloth loads a model's tokenizer by a way of its own, which repairs padding, templates
and what does not come back, and may add rows to the model; the product keeps the tokenizer that it reads itself.
"""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

from tasks.policy.control_tokens import control_tokens_of
from tasks.policy.generate import as_messages, tokens_of
from tasks.policy.load import load_base, load_tokenizer
from tasks.train.backend import trainable
from tests.contracts.tokenizers.published import texts
from tests.contracts.unsloth.on_cpu import use_unsloth_on_cpu


def main(base: Path, output: Path) -> None:
    """Read the tokenizer of a base as Unsloth does, and write it, ours, and what became of the model."""
    use_unsloth_on_cpu()
    trainable._import_unsloth(output.parent / "work")
    unsloth = importlib.import_module("unsloth.tokenizer_utils")
    model: Any = load_base(base, four_bit=False)
    before = _state(model)
    read = unsloth.load_correct_tokenizer(str(base), model_max_length=4096, padding_side="right")
    model, read = importlib.import_module("unsloth.models._utils").patch_tokenizer(model, read)
    read = unsloth.check_tokenizer(model, read, model_name=str(base))
    found = {
        "ours": described(load_tokenizer(base)),
        "unsloth": described(read),
        "changed": sorted(name for name, value in _state(model).items() if before.get(name) != value),
    }
    output.write_text(json.dumps(found), encoding="utf-8")


def _state(model: Any) -> dict[str, Any]:
    """Return the model's weights, by their sums, and the tokens that it names."""
    named = {name: getattr(model.config, f"{name}_token_id") for name in ("eos", "pad")}
    return {**named, **{name: float(weights.double().sum()) for name, weights in model.state_dict().items()}}


def described(tokenizer: Any) -> dict[str, Any]:
    """Return what a training sees of a tokenizer, but for the side that it pads on."""
    return {
        "ends": [getattr(tokenizer, f"{name}_token_id") for name in ("eos", "bos", "pad", "unk")],
        "control": control_tokens_of(tokenizer),
        "prompts": [tokens_of(tokenizer, as_messages("Responda.", text)) for text in texts()],
        "texts": [tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) for text in texts()],
    }


if __name__ == "__main__":
    main(Path(sys.argv[2]).parent, Path(sys.argv[3]))
