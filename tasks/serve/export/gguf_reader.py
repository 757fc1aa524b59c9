"""GGUF file read back: its weights by transformers' reader, its vocabulary as llama.cpp reads it.

transformers rebuilds Qwen's tokenizer of every file of a Qwen, whatever pre-tokenizer the file names; so the tokenizer
is rebuilt here from the file's words alone, by the rules that llama.cpp has for them.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from schemas.errors import GateRefused
from tasks.serve.export.vocabulary import BLANK, CONTROL, NORMAL, SPLITS, USER_DEFINED, GgufVocabulary

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

REMEDY: Final = "nothing is exported; run the same command again, and report it as a fault if it stays"
SHAPE: Final = (
    "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
    "num_key_value_heads", "head_dim", "max_position_embeddings", "rms_norm_eps", "tie_word_embeddings",
)  # fmt: skip
"""Fields of a configuration that decide what a model computes, besides its rotation."""


def load_gguf(file: Path) -> "PreTrainedModel":
    """Load a file's weights in float32 by transformers' reader.

    Raises:
        GateRefused: It cannot be read, or lacks tensors.
    """
    import torch
    from gguf import GGUFReader
    from transformers import AutoConfig, AutoModelForCausalLM

    try:
        config = AutoConfig.from_pretrained(file.parent, gguf_file=file.name)
        # transformers does not read the size of Qwen3's heads, and takes Qwen3's usual one.
        config.head_dim = _values(GGUFReader(file))[f"{config.model_type}.attention.key_length"]
        model, report = AutoModelForCausalLM.from_pretrained(
            file.parent, gguf_file=file.name, config=config, dtype=torch.float32, output_loading_info=True
        )
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, IndexError) as error:
        raise unreadable(file, error) from error
    if report["missing_keys"]:
        raise GateRefused(f"{file.name} lacks {min(report['missing_keys'])}; {REMEDY}")
    return cast("PreTrainedModel", model.eval())


def unreadable(file: Path, error: Exception) -> GateRefused:
    """Return the sentence for a file that no reader reads."""
    line = (str(error).splitlines() or [""])[0][:120].rstrip(".")
    return GateRefused(f"{file.name} cannot be read back ({type(error).__name__}: {line}); {REMEDY}")


def read_vocabulary(file: Path) -> GgufVocabulary:
    """Read a file's vocabulary.

    Raises:
        GateRefused: It has none that is whole.
    """
    from gguf import GGUFReader

    try:
        values = _values(GGUFReader(file))
        return GgufVocabulary(
            model=values["tokenizer.ggml.model"],
            pre=values["tokenizer.ggml.pre"],
            tokens=values["tokenizer.ggml.tokens"],
            types=values["tokenizer.ggml.token_type"],
            merges=values.get("tokenizer.ggml.merges", ()),
            scores=values.get("tokenizer.ggml.scores", ()),
            end=values["tokenizer.ggml.eos_token_id"],
            begin=values.get("tokenizer.ggml.bos_token_id"),
            pad=values.get("tokenizer.ggml.padding_token_id"),
            unknown=values.get("tokenizer.ggml.unknown_token_id"),
            adds_begin=values.get("tokenizer.ggml.add_bos_token", False),
            # llama.cpp adds it to SentencePiece's tokenizers unless a file says otherwise.
            adds_blank=values.get("tokenizer.ggml.add_space_prefix", values["tokenizer.ggml.model"] == "llama"),
            chat_template=values["tokenizer.chat_template"],
        )
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise unreadable(file, error) from error


def _values(reader: Any) -> dict[str, Any]:
    return {name: field.contents() for name, field in reader.fields.items()}


def as_tokenizer(vocabulary: GgufVocabulary) -> "PreTrainedTokenizerBase":
    """Return a tokenizer that reads texts as llama.cpp does with a file's vocabulary, without a token before them."""
    from tokenizers import AddedToken
    from transformers import PreTrainedTokenizerFast

    backend = _byte_level(vocabulary) if vocabulary.model == "gpt2" else _pieces(vocabulary)
    for number, kind in enumerate(vocabulary.types):
        if kind in {CONTROL, USER_DEFINED}:
            token = AddedToken(vocabulary.tokens[number], normalized=False, special=kind == CONTROL)
            (backend.add_special_tokens if kind == CONTROL else backend.add_tokens)([token])
    named = {"eos_token": vocabulary.end, "bos_token": vocabulary.begin, "pad_token": vocabulary.pad}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        **{name: vocabulary.tokens[number] for name, number in named.items() if number is not None},
    )
    tokenizer.chat_template = vocabulary.chat_template
    return cast("PreTrainedTokenizerBase", tokenizer)


def as_ollama_reads(vocabulary: GgufVocabulary, family: str) -> GgufVocabulary:
    """Return a vocabulary as Ollama reads it: it has an engine of its own for Qwen3, with Qwen's tokenizer.

    That engine takes tokens and merges from the file, and neither its kind of tokenizer nor its pre-tokenizer.

    Args:
        vocabulary: The file's.
        family: Its model type.
    """
    return replace(vocabulary, model="gpt2", pre="qwen2") if family == "qwen3" else vocabulary


def _byte_level(vocabulary: GgufVocabulary) -> Any:
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    merges = [cast("tuple[str, str]", tuple(merge.split(" "))) for merge in vocabulary.merges]
    backend = Tokenizer(models.BPE(_numbers(vocabulary), merges))
    splits = [pre_tokenizers.Split(Regex(expression), "isolated") for expression in SPLITS[vocabulary.pre]]
    in_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.pre_tokenizer = pre_tokenizers.Sequence([*splits, in_bytes])
    backend.decoder = decoders.ByteLevel()
    return backend


def _pieces(vocabulary: GgufVocabulary) -> Any:
    """Merge as SentencePiece does: of all neighbours whose union is a token, those whose union scores highest."""
    from tokenizers import Tokenizer, decoders, models, normalizers

    numbers = _numbers(vocabulary)
    ordinary = {token for token, kind in zip(vocabulary.tokens, vocabulary.types, strict=True) if kind == NORMAL}
    pairs = (
        (token[:place], token[place:])
        for token in ordinary
        for place in range(1, len(token))
        if token[:place] in ordinary
    )
    merges = sorted(
        (pair for pair in pairs if pair[1] in ordinary),
        key=lambda pair: (-vocabulary.scores[numbers["".join(pair)]], numbers[pair[0]], numbers[pair[1]]),
    )
    unknown = None if vocabulary.unknown is None else vocabulary.tokens[vocabulary.unknown]
    backend = Tokenizer(models.BPE(numbers, merges, unk_token=unknown, fuse_unk=True, byte_fallback=True))
    first: list[Any] = [normalizers.Prepend(BLANK)] if vocabulary.adds_blank else []
    backend.normalizer = normalizers.Sequence([*first, normalizers.Replace(" ", BLANK)])
    backend.decoder = decoders.Sequence([decoders.Replace(BLANK, " "), decoders.ByteFallback(), decoders.Fuse()])
    return backend


def _numbers(vocabulary: GgufVocabulary) -> dict[str, int]:
    return {token: number for number, token in enumerate(vocabulary.tokens)}
