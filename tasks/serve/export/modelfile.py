"""Ollama's Modelfile beside a GGUF file: its template, which is not the file's own, and the evaluated decoding.

Ollama writes prompts by a Go template, and decodes by sampling of its own (top-k 40, top-p 0.9) where nothing else is
said.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.policy.generate import Message
from tasks.policy.load import load_tokenizer
from tasks.policy.published import ANSWER, QUESTION, TURN
from tasks.serve.export.gguf_file import QWEN_WORDS
from tasks.serve.served_model import Decoding

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def modelfile(
    weights: Path, conversations: Sequence[list[Message]], texts: Sequence[str], gguf: str, decoding: Decoding
) -> str | None:
    """Return the Modelfile of a GGUF file of this name; None where Ollama would write or read a prompt otherwise.

    The texts are conversations of a system text and a prompt, as training writes them.
    """
    from transformers import AutoConfig

    tokenizer, config = load_tokenizer(weights), AutoConfig.from_pretrained(weights)
    first, turn = (
        str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=to_answer))
        for messages, to_answer in ((QUESTION, True), (TURN, False))
    )
    parts, end = re.split("|".join(message["content"] for message in QUESTION), first), turn.rpartition(ANSWER)[2]
    if len(parts) != 3 or any(sign in first + end for sign in ("{{", '"""')):
        return None
    before, between, to_answer = parts
    written = [before + system["content"] + between + prompt["content"] + to_answer for system, prompt in conversations]
    if written != list(texts) or not _reads_as(config, tokenizer, texts):
        return None
    lines = [
        f"FROM ./{gguf}",
        f'TEMPLATE """{before}{{{{ .System }}}}{between}{{{{ .Prompt }}}}{to_answer}{{{{ .Response }}}}{end}"""',
        f'PARAMETER stop "{tokenizer.eos_token}"',
        f"PARAMETER temperature {decoding.temperature}",
        f"PARAMETER num_predict {decoding.max_tokens}",
        f"PARAMETER num_ctx {config.max_position_embeddings}",
        *(f"PARAMETER {neutral}" for neutral in ("top_k 0", "top_p 1.0", "min_p 0.0", "repeat_penalty 1.0")),
    ]
    return "\n".join(lines) + "\n"


def _reads_as(config: Any, tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str]) -> bool:
    """Return whether Ollama reads texts as the same tokens: for Qwen3 it has a tokenizer of its own, which is Qwen's.

    That one splits a text as Qwen does and merges bytes, whatever the GGUF file says.
    """
    from tokenizers import Regex, Tokenizer, pre_tokenizers

    if config.model_type != "qwen3":
        return True
    rules: Any = tokenizer
    other = Tokenizer.from_str(rules.backend_tokenizer.to_str())
    if json.loads(other.to_str())["model"].get("byte_fallback"):
        return False
    in_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    other.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(QWEN_WORDS), "isolated"), in_bytes])
    return all(
        tokenizer.encode(text, add_special_tokens=False) == other.encode(text, add_special_tokens=False).ids
        for text in texts
    )
