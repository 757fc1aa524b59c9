"""GGUF file of a model: weights, shape and vocabulary in one, as llama.cpp and Ollama read it."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from schemas.errors import InputError
from tasks.policy.load import load_tokenizer
from tasks.serve.export.vocabulary import REMEDY, vocabulary_of

if TYPE_CHECKING:
    import torch

Precision = Literal["F16", "Q8_0"]
"""Type of the matrices; vectors, such as those of norms, are float32."""
PRECISIONS: Final[tuple[Precision, ...]] = ("F16", "Q8_0")
FAMILIES: Final = ("qwen2", "qwen3")
"""Model types, as in a config.json, whose layers GGUF holds as they are."""
BLOCK: Final = 32
"""Numbers that share a scale in Q8_0."""
HEAD: Final = "lm_head.weight"
"""Tensor that is not written where it is tied to the embeddings."""


def write_gguf(model: Path, output: Path, precision: Precision, *, name: str) -> None:
    """Write a model folder as one GGUF file with a name for people.

    Raises:
        InputError: GGUF cannot hold the model.
    """
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
    for tensor, weights in _tensors(model):
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
    if rotation != "default" or config.use_sliding_window:
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


def _tensors(model: Path) -> Iterator[tuple[str, "torch.Tensor"]]:
    """Yield each tensor of a model folder by its name, in its own type, in a fixed order."""
    from safetensors import safe_open

    for file in sorted(model.glob("*.safetensors")):
        with safe_open(file, framework="pt") as tensors:
            for tensor in sorted(tensors.keys()):
                yield tensor, tensors.get_tensor(tensor)


def _kind(weights: "torch.Tensor", precision: Precision) -> Any:
    from gguf import GGMLQuantizationType

    if weights.ndim == 1:
        return GGMLQuantizationType.F32
    if precision == "Q8_0" and weights.shape[-1] % BLOCK:
        # As llama.cpp does: a row that is no number of whole blocks stays in half precision.
        return GGMLQuantizationType.F16
    return GGMLQuantizationType[precision]
