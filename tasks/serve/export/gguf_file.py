"""GGUF file of a model: weights, shape and vocabulary in one, as llama.cpp and Ollama read it; and Ollama's Modelfile.

GGUF has no pre-tokenizer, only the name of one that llama.cpp knows, so a tokenizer that splits texts by other rules
cannot be written. Two families can: byte-level BPE (Qwen's, and the stand-in's), and SentencePiece's BPE with bytes for
unknown characters (Tucano2's). Their pre-tokenizers tell them apart: a byte-level one may name byte_fallback too.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from schemas.errors import InputError
from tasks.policy.generate import Message, render
from tasks.policy.load import load_tokenizer
from tasks.policy.published import ANSWER, QUESTION, TURN
from tasks.serve.served_model import Decoding

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerBase

Precision = Literal["F16", "Q8_0"]
"""Type of the matrices; vectors, such as those of norms, are float32."""
PRECISIONS: Final[tuple[Precision, ...]] = ("F16", "Q8_0")
FAMILIES: Final = ("llama", "qwen2", "qwen3")
"""Model types, as in a config.json, whose layers GGUF holds; a Llama's rotated rows in another order."""
BLOCK: Final = 32
"""Numbers that share a scale in Q8_0."""
HEAD: Final = "lm_head.weight"
"""Tensor that is not written where it is tied to the embeddings."""
WORDS: Final = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
QWEN_WORDS: Final = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SPLITS: Final[Mapping[str, tuple[str, ...]]] = {"gpt-2": (WORDS,), "smollm": (r"\p{N}", WORDS), "qwen2": (QWEN_WORDS,)}
"""Expressions that split a text, one after the other, by the name that llama.cpp knows a pre-tokenizer by."""
NORMALIZERS: Final = frozenset({"NFC"})
"""Normalizers that a byte-level tokenizer may have: llama.cpp reads the text as it is, which ours is already."""
BLOCKS: Final = {"endgeneration": "endif", "generation": "if true"}
"""What stands in GGUF for a chat template's tags around what is trained on, which not every reader knows."""
REMEDY: Final = "export it with --format safetensors"


def write_gguf(model: Path, output: Path, precision: Precision, *, name: str) -> None:
    """Write a model folder as one GGUF file with a name for people."""
    from gguf import MODEL_ARCH, GGUFWriter, get_tensor_name_map, quants
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(model)
    _refuse_unknown(config)
    writer = GGUFWriter(output, config.model_type)
    writer.add_name(name)
    _add_shape(writer, config, precision)
    for key, value in vocabulary_of(load_tokenizer(model), config.vocab_size).items():
        getattr(writer, f"add_{key}")(value)
    known = get_tensor_name_map(MODEL_ARCH[config.model_type.upper()], config.num_hidden_layers)
    for tensor, weights in _tensors(model, config):
        if tensor == HEAD and config.tie_word_embeddings:
            continue
        name_there = known.get_name(tensor, try_suffixes=(".weight", ".bias"))
        if name_there is None:
            raise InputError(f"the tensor {tensor} of {model} is none of a {config.model_type} in GGUF; {REMEDY}")
        kind = _kind(weights, precision)
        writer.add_tensor(name_there, quants.quantize(weights.float().numpy(), kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _refuse_unknown(config: Any) -> None:
    rotation = config.rope_parameters.get("rope_type", "default")
    if config.model_type not in FAMILIES:
        raise InputError(f"a {config.model_type} cannot be written as GGUF, only {', '.join(FAMILIES)}; {REMEDY}")
    if rotation != "default" or getattr(config, "use_sliding_window", False):
        what = "a sliding window" if rotation == "default" else f"rotary embeddings of type {rotation!r}"
        raise InputError(f"the model has {what}, which is not written as GGUF; {REMEDY}")


def _add_shape(writer: Any, config: Any, precision: Precision) -> None:
    from gguf import GGML_QUANT_VERSION, LlamaFileType

    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(size)
    writer.add_value_length(size)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    writer.add_file_type(LlamaFileType.MOSTLY_F16 if precision == "F16" else LlamaFileType.MOSTLY_Q8_0)
    writer.add_quantization_version(GGML_QUANT_VERSION)


def _tensors(model: Path, config: Any) -> Iterator[tuple[str, "torch.Tensor"]]:
    """Yield each tensor of a model folder by its name, in its own type, in a fixed order."""
    from safetensors import safe_open

    # llama.cpp rotates neighbouring rows of a Llama's heads, and transformers a head's halves.
    rotated = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    rotated = rotated if config.model_type == "llama" else {}
    for file in sorted(model.glob("*.safetensors")):
        with safe_open(file, framework="pt") as tensors:
            for tensor in sorted(tensors.keys()):
                weights = tensors.get_tensor(tensor)
                heads = rotated.get(tensor.split(".")[-2])
                yield tensor, weights.unflatten(0, (heads, 2, -1)).transpose(1, 2).flatten(0, 2) if heads else weights


def _kind(weights: "torch.Tensor", precision: Precision) -> Any:
    from gguf import GGMLQuantizationType

    if weights.ndim == 1:
        return GGMLQuantizationType.F32
    if precision == "Q8_0" and weights.shape[-1] % BLOCK:
        # As llama.cpp does: a row that is no number of whole blocks stays in half precision.
        return GGMLQuantizationType.F16
    return GGMLQuantizationType[precision]


def vocabulary_of(tokenizer: "PreTrainedTokenizerBase", rows: int) -> dict[str, Any]:
    """Return a tokenizer's values for a GGUF file, by the names that `GGUFWriter.add_*` has for them.

    No token is written before a prompt: training read what the chat template writes. The embeddings may have more rows
    than there are tokens.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise InputError(f"the tokenizer {type(tokenizer).__name__} has no tokenizer.json, which is read; {REMEDY}")
    rules = json.loads(backend.to_str())
    bpe = rules["model"]
    if bpe.get("type") != "BPE" or tokenizer.eos_token_id is None:
        raise InputError(f"the tokenizer is {bpe.get('type')} or has no EOS token, which GGUF cannot hold; {REMEDY}")
    if len(tokenizer) > rows:
        raise InputError(f"the tokenizer has {len(tokenizer)} tokens, and the model {rows}; give the model's own")
    template = _template_for_others(tokenizer)
    if tokenizer.bos_token_id is None and "bos_token" in template:
        raise InputError(f"the chat template writes a BOS token, and the tokenizer has none; {REMEDY}")
    merges = [tuple(merge) if isinstance(merge, list) else tuple(merge.split(" ")) for merge in bpe["merges"]]
    pieces = _has_pieces(rules)
    tokens, types = _tokens(tokenizer, rows, pieces=pieces)
    ends = {f"{end}_token_id": getattr(tokenizer, f"{end}_token_id") for end in ("eos", "bos", "pad", "unk")}
    return {
        "tokenizer_model": "llama" if pieces else "gpt2",
        "tokenizer_pre": "default" if pieces else _pre_tokenizer(rules),
        "token_list": tokens,
        "token_types": types,
        **(
            {"token_scores": _scores(tokens, merges), "add_space_prefix": _adds_blank(rules)}
            if pieces
            else {"token_merges": [" ".join(merge) for merge in merges]}
        ),
        **{name: number for name, number in ends.items() if number is not None},
        "add_bos_token": False,
        "add_eos_token": False,
        "chat_template": template,
    }


def _template_for_others(tokenizer: "PreTrainedTokenizerBase") -> str:
    """Return the chat template that writes what training read, also in llama.cpp, which sets `enable_thinking`."""
    template = str(tokenizer.chat_template)
    for tag, block in BLOCKS.items():
        template = re.sub(rf"(\{{%[-+]?\s*){tag}\b", rf"\1{block}", template)
    if "enable_thinking" not in template:
        return template
    asked = {"tokenize": False, "add_generation_prompt": True}
    thinks = tokenizer.apply_chat_template(QUESTION, enable_thinking=True, **asked) == render(tokenizer, QUESTION)
    return f"{{%- set enable_thinking = {str(thinks).lower()} %}}{template}"


def _has_pieces(rules: Mapping[str, Any]) -> bool:
    """Return whether a BPE's tokens are SentencePiece's, which are text, and not bytes in GPT-2's alphabet."""
    in_bytes = any(step["type"] == "ByteLevel" for step in _steps(rules["pre_tokenizer"], "pretokenizers"))
    return bool(rules["model"].get("byte_fallback")) and not in_bytes


def _tokens(tokenizer: "PreTrainedTokenizerBase", rows: int, *, pieces: bool) -> tuple[list[str], list[int]]:
    from gguf import TokenType

    texts = {number: text for text, number in tokenizer.get_vocab().items()}
    added = tokenizer.added_tokens_decoder
    tokens = [texts.get(number, f"[PAD{number}]") for number in range(rows)]
    types: list[int] = []
    for number, text in enumerate(tokens):
        if number not in texts:
            types.append(TokenType.UNUSED)
        elif pieces and number == tokenizer.unk_token_id:
            types.append(TokenType.UNKNOWN)
        elif number in added:
            types.append(TokenType.CONTROL if added[number].special else TokenType.USER_DEFINED)
        else:
            types.append(TokenType.BYTE if pieces and len(text) == 6 and text.startswith("<0x") else TokenType.NORMAL)
    return tokens, types


def _scores(tokens: Sequence[str], merges: Sequence[tuple[str, ...]]) -> list[float]:
    """Return scores that merge in the order of the merges: SentencePiece merges the pair whose token scores highest."""
    ranks = {"".join(pair): rank for rank, pair in reversed([*enumerate(merges)])}  # Of equal ones the first.
    return [-float(ranks.get(token, len(merges))) for token in tokens]


def _steps(part: Mapping[str, Any] | None, inner: str) -> list[dict[str, Any]]:
    return [] if part is None else list(part[inner]) if part["type"] == "Sequence" else [dict(part)]


def _pre_tokenizer(rules: Mapping[str, Any]) -> str:
    normalizers = {step["type"] for step in _steps(rules["normalizer"], "normalizers")}
    steps = _steps(rules["pre_tokenizer"], "pretokenizers")
    found: list[str] = []
    for step in steps:
        if step["type"] == "Digits" and step["individual_digits"]:
            found.append(r"\p{N}")
        elif step["type"] == "Split" and step["behavior"] == "Isolated" and not step["invert"]:
            found.append(step["pattern"].get("Regex", ""))
        elif step["type"] == "ByteLevel" and not step["add_prefix_space"]:
            found += [WORDS] if step["use_regex"] else []
        else:
            found.append("")
    name = next((name for name, expressions in SPLITS.items() if tuple(found) == expressions), None)
    if not found:
        raise InputError(f"the tokenizer merges whole texts, and llama.cpp splits each into words first; {REMEDY}")
    if name is None or not normalizers <= NORMALIZERS or not any(step["type"] == "ByteLevel" for step in steps):
        kinds = ", ".join([*sorted(normalizers), *(step["type"] for step in steps)])
        raise InputError(f"the tokenizer splits texts by rules that GGUF has no name for ({kinds}); {REMEDY}")
    return name


def _adds_blank(rules: Mapping[str, Any]) -> bool:
    """Return whether each text between control tokens begins with a blank; "first" is where a control token begins."""
    for step in _steps(rules["normalizer"], "normalizers"):
        if step["type"] == "Prepend":
            return True
        if step["type"] != "Replace":
            raise InputError(f"the tokenizer normalizes texts by {step['type']}, which GGUF has not; {REMEDY}")
    schemes = [step.get("prepend_scheme") for step in _steps(rules["pre_tokenizer"], "pretokenizers")]
    return "always" in schemes


def modelfile(
    weights: Path, conversations: Sequence[list[Message]], texts: Sequence[str], gguf: str, decoding: Decoding
) -> str | None:
    """Return the Modelfile of a GGUF file of this name; None where Ollama would write or read a prompt otherwise.

    Ollama writes prompts by a Go template, and decodes by sampling of its own where nothing else is said.
    The texts are conversations of a system text and a prompt, as training writes them.
    """
    from transformers import AutoConfig

    tokenizer, config = load_tokenizer(weights), AutoConfig.from_pretrained(weights)
    first, turn = render(tokenizer, QUESTION), render(tokenizer, TURN, to_answer=False)
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
    if _has_pieces(json.loads(other.to_str())):
        return False
    in_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    other.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(QWEN_WORDS), "isolated"), in_bytes])
    return all(
        tokenizer.encode(text, add_special_tokens=False) == other.encode(text, add_special_tokens=False).ids
        for text in texts
    )
