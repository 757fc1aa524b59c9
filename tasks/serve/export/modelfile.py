"""Ollama's Modelfile beside a GGUF file: its template, which is not the file's own, and the evaluated decoding.

Ollama writes prompts by a Go template, and decodes by sampling of its own (top-k 40, top-p 0.9) where nothing else is
said.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jinja2 import TemplateError

from schemas.errors import InputError
from tasks.policy.load import load_tokenizer
from tasks.policy.published import ANSWER, QUESTION, TURN
from tasks.serve.export.vocabulary import QWEN_WORDS
from tasks.serve.served_model import Decoding

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

SYSTEM_TEXT, PROMPT_TEXT = (message["content"] for message in QUESTION)
SYSTEM: Final = "{{ .System }}"
PROMPT: Final = "{{ .Prompt }}"
RESPONSE: Final = "{{ .Response }}"
IF_SYSTEM: Final = "{{ if .System }}"
END: Final = "{{ end }}"
_TEMPLATE: Final = re.compile(r'^TEMPLATE """(.*?)"""$', re.DOTALL | re.MULTILINE)


def write_modelfile(model: Path, output: Path, gguf: str, decoding: Decoding) -> None:
    """Write a Modelfile.

    Args:
        model: Folder of the model.
        output: The file.
        gguf: Name of the GGUF file, in the same folder.
        decoding: The evaluated decoding.

    Raises:
        InputError: The chat template cannot be said in Ollama's language.
    """
    from transformers import AutoConfig

    tokenizer = load_tokenizer(model)
    lines = [
        f"FROM ./{gguf}",
        f'TEMPLATE """{_template(tokenizer)}"""',
        f'PARAMETER stop "{tokenizer.eos_token}"',
        f"PARAMETER temperature {decoding.temperature}",
        f"PARAMETER num_predict {decoding.max_tokens}",
        f"PARAMETER num_ctx {AutoConfig.from_pretrained(model).max_position_embeddings}",
        "PARAMETER top_k 0",
        "PARAMETER top_p 1.0",
        "PARAMETER min_p 0.0",
        "PARAMETER repeat_penalty 1.0",
    ]
    output.write_text("\n".join(lines) + "\n", encoding="utf-8")


def written_prompt(text: str, system: str, prompt: str) -> str:
    """Return the prompt that Ollama writes by a Modelfile of ours, up to the answer."""
    found = _TEMPLATE.search(text)
    template = found[1] if found else ""
    asked = template.partition(RESPONSE)[0].replace(IF_SYSTEM, "").replace(END, "")
    before, _, after = asked.partition(SYSTEM)
    between, _, to_answer = after.partition(PROMPT)
    return before + system + between + prompt + to_answer


def ollama_reads(model: Path, texts: Sequence[str]) -> bool:
    """Return whether Ollama reads texts as the same tokens: for Qwen3 it has a tokenizer of its own, which is Qwen's.

    That one splits a text as Qwen does and merges bytes, whatever the GGUF file says.
    """
    from tokenizers import Regex, pre_tokenizers
    from transformers import AutoConfig

    own, other = load_tokenizer(model), load_tokenizer(model)
    if AutoConfig.from_pretrained(model).model_type != "qwen3":
        return True
    backend = other.backend_tokenizer
    if json.loads(backend.to_str())["model"].get("byte_fallback"):
        return False
    in_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(QWEN_WORDS), "isolated"), in_bytes])
    pairs = ([each.encode(text, add_special_tokens=False) for each in (own, other)] for text in texts)
    return all(mine == its for mine, its in pairs)


def _template(tokenizer: "PreTrainedTokenizerBase") -> str:
    asked = _rendered(tokenizer, QUESTION, to_answer=True)
    parts = re.split(f"{SYSTEM_TEXT}|{PROMPT_TEXT}", asked)
    after = _rendered(tokenizer, TURN, to_answer=False).rpartition(ANSWER)[2]
    if len(parts) != 3 or any(sign in asked + after for sign in ("{{", '"""')):
        raise InputError(
            "the chat template writes a prompt in a way that Ollama's template language cannot say; export it with "
            "--format safetensors"
        )
    before, between, to_answer = parts
    try:
        user = _rendered(tokenizer, QUESTION[1:], to_answer=True).partition(PROMPT_TEXT)[0]
    except TemplateError:
        user = between
    if not user or not between.endswith(user):
        # Without a system text, the template would write one of its own.
        return f"{before}{SYSTEM}{between}{PROMPT}{to_answer}{RESPONSE}{after}"
    of_system = between.removesuffix(user)
    return f"{IF_SYSTEM}{before}{SYSTEM}{of_system}{END}{user}{PROMPT}{to_answer}{RESPONSE}{after}"


def _rendered(tokenizer: "PreTrainedTokenizerBase", messages: list[dict[str, str]], *, to_answer: bool) -> str:
    return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=to_answer))
