"""Teacher's base: a model of twice the width that computes the same function, to be trained as any other.

Net2Net's wider transformation (1511.05641, section 2.1), for a Llama or a Qwen with tied embeddings: each unit of the
hidden states, the heads and the feed-forward layers stands there twice, and what reads the copies has half the weight.
A root mean square does not change where all is doubled. Nothing breaks the symmetry here: an adapter's first weights
are random, and differ between copies. To train a model of that width from random weights would take days of a laptop.
"""

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tasks.policy.load import load_tokenizer, read_folder

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

WIDTHS: Final = ("hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads")
LAST_NORM: Final = "model.norm.weight"


def write_wider(folder: Path, output: Path) -> None:
    """Write the model of a folder in twice its width, in float32, and its tokenizer."""
    import torch

    wider(read_folder(folder, dtype=torch.float32)).save_pretrained(output)
    load_tokenizer(folder).save_pretrained(output)


def wider(model: "PreTrainedModel") -> "PreTrainedModel":
    """Return the same function in twice the width; a head keeps its size."""
    import torch

    config = copy.deepcopy(model.config)
    for width in WIDTHS:
        setattr(config, width, 2 * getattr(config, width))
    found: PreTrainedModel = type(model)(config).to(torch.float32)
    small, embedding = model.state_dict(), found.get_input_embeddings().weight
    weights = {name: _doubled(name, small[name], wide) for name, wide in found.state_dict().items()}
    found.load_state_dict(weights)
    if found.get_output_embeddings().weight is not embedding:
        raise ValueError(f"{config.model_type} has a head of its own, which nothing halves; tie its embeddings")
    found.generation_config = model.generation_config
    return found.eval()


def _doubled(name: str, small: "Tensor", wide: "Tensor") -> "Tensor":
    """Return a weight of the model in the shape that it has in the wider one."""
    repeated = small.repeat(*(new // old for new, old in zip(wide.shape, small.shape, strict=True)))
    # The head is the embedding, whose copies add up in a logit: the norm before it is halved in its place.
    reads_copies = name.endswith("_proj.weight") or name == LAST_NORM
    return repeated / 2 if reads_copies else repeated
