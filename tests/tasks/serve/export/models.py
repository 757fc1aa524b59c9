"""Real, tiny models in the type that published ones have, with the tokenizers of both families, and their versions."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from schemas.progress import silent
from schemas.tables.prompts import PromptRow
from tasks.policy.published import chatml
from tasks.serve.export.proof import Original, ask_original, load_exact
from tasks.stand_in.model import StandInShape
from tests.tasks.curate.prompt_rows import prompt_row

SMALL = StandInShape(vocabulary_size=512, hidden_size=64, layers=2, heads=4, key_value_heads=2, feed_forward_size=96)
TEXT = "o pedido 1234 chegou atrasado, mas o produto é ótimo! d'água não"
ROWS = [
    prompt_row(task, f"{task}: pedido {number}, não chegou... R$ {number},50")
    for number in range(4)
    for task in ("push", "sentiment")
]
LONGEST = 8


def save_model(folder: Path, *, tied: bool = True, pieces: bool = False, family: str = "qwen3") -> Path:
    """Save a small decoder of a family in bfloat16, the same at each call; SentencePiece's tokenizer has pieces.

    The configurations of others than Qwen3 are published without the size of a head.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    from tasks.stand_in.model import build_model

    tokenizer = small_tokenizer(pieces=pieces)
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


def small_tokenizer(*, pieces: bool) -> Any:
    """Return a tokenizer of one sentence, with a chat template: SentencePiece's, or a byte-level one."""
    from tasks.stand_in.model import build_tokenizer

    return _pieces() if pieces else build_tokenizer([TEXT] * 50, SMALL.vocabulary_size)


def original_of(weights: Path, rows: Sequence[PromptRow] = ROWS) -> Original:
    """Let a model answer, as an export of it is compared with."""
    return ask_original(load_exact(weights), weights, rows, None, LONGEST, silent)


def _pieces() -> Any:
    """Return a tokenizer as Tucano2's: BOS is what begins a turn, and bytes stand for unknown characters."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import LlamaTokenizer

    learnt = Tokenizer(models.BPE())
    learnt.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Metaspace()]
    )
    learnt.train_from_iterator([TEXT] * 50, trainers.BpeTrainer(vocab_size=160, show_progress=False))
    found = json.loads(learnt.to_str())["model"]
    first = ["<|unk|>", "<|im_start|>", "<|im_end|>", *(f"<0x{byte:02X}>" for byte in range(256))]
    tokens = [*first, *found["vocab"]]
    tokenizer = LlamaTokenizer(
        vocab={token: number for number, token in enumerate(tokens)},
        merges=[tuple(merge) for merge in found["merges"]],
        unk_token="<|unk|>",
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        pad_token="<|pad|>",
        add_bos_token=True,
        add_prefix_space=False,
        padding_side="left",
    )
    tokenizer.add_tokens(["<think>", "  "])
    tokenizer.chat_template = chatml()
    return tokenizer
