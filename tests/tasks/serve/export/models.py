"""Real, tiny models in the type that published ones have, with the tokenizers of both families, and their versions."""

from collections.abc import Sequence
from pathlib import Path

from schemas.progress import silent
from schemas.tables.prompts import PromptRow
from tasks.serve.export.proof import Original, ask_original, load_exact
from tasks.stand_in.model import StandInShape
from tests.contracts.tokenizers.published import Kind, published_tokenizer
from tests.tasks.curate.prompt_rows import prompt_row

SMALL = StandInShape(vocabulary_size=512, hidden_size=64, layers=2, heads=4, key_value_heads=2, feed_forward_size=96)
TEXT = "o pedido 1234 chegou atrasado, mas o produto é ótimo! d'água não"
ROWS = [
    prompt_row(task, f"{task}: pedido {number}, não chegou... R$ {number},50")
    for number in range(4)
    for task in ("push", "sentiment")
]
LONGEST = 8


def save_model(folder: Path, *, tied: bool = True, kind: Kind | None = None, family: str = "qwen3") -> Path:
    """Save a small decoder of a family in bfloat16, the same at each call; its tokenizer is the stand-in's or another.

    The configurations of others than Qwen3 are published without the size of a head.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    from tasks.stand_in.model import build_model, build_tokenizer

    texts = [TEXT] * 50
    tokenizer = published_tokenizer(kind, "hybrid") if kind else build_tokenizer(texts, SMALL.vocabulary_size)
    model = build_model(SMALL, tokenizer, 3)
    model.config.tie_word_embeddings = tied
    model.config.rope_parameters = {"rope_theta": 50_000.0, "rope_type": "default"}
    torch.manual_seed(4)
    values = model.config.to_dict()
    if family != "qwen3":
        del values["head_dim"]
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**values | {"model_type": family}))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            # As of a trained model: norms that differ from 1, and logits that are far apart.
            drawn = torch.randn_like(parameter)
            parameter.copy_(1 + 0.1 * drawn if "norm" in name else 0.2 * drawn)
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def original_of(weights: Path, rows: Sequence[PromptRow] = ROWS) -> Original:
    """Let a model answer, as an export of it is compared with."""
    return ask_original(load_exact(weights), weights, rows, None, LONGEST, silent)
