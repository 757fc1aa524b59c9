"""GGUF file of a model: weights, shape and vocabulary in one, as llama.cpp and Ollama read it."""

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from schemas.errors import InputError
from tasks.policy.load import load_tokenizer
from tasks.serve.export.vocabulary import REMEDY, GgufVocabulary, vocabulary_of

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


def write_gguf(model: Path, output: Path, precision: Precision, *, name: str) -> None:
    """Write a model folder as one GGUF file, a tensor at a time.

    Args:
        model: Folder with configuration, safetensors and tokenizer.
        output: The file.
        precision: Type of the matrices.
        name: The model's name, for people.

    Raises:
        InputError: GGUF cannot hold the model.
    """
    import numpy as np
    from gguf import GGUFWriter, quants
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(model)
    _refuse_unknown(config)
    writer = GGUFWriter(output, config.model_type)
    writer.add_name(name)
    _add_shape(writer, config, precision)
    _add_vocabulary(writer, vocabulary_of(load_tokenizer(model), config.vocab_size))
    name_of = _names(config, model)
    for tensor, weights in _written(model, config):
        shape, dtype = _layout(weights, kind := _kind(weights, precision))
        size = math.prod(shape) * np.dtype(dtype).itemsize
        writer.add_tensor_info(name_of(tensor), shape, np.dtype(dtype), size, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for _, weights in _written(model, config):
        writer.write_tensor_data(quants.quantize(weights.float().numpy(), _kind(weights, precision)))
    writer.close()


def tensors_of(model: Path) -> Iterator[tuple[str, "torch.Tensor"]]:
    """Yield each tensor of a model folder by its name, in its own type, in a fixed order."""
    from safetensors import safe_open

    for file in sorted(model.glob("*.safetensors")):
        with safe_open(file, framework="pt") as tensors:
            for tensor in sorted(tensors.keys()):
                yield tensor, tensors.get_tensor(tensor)


def as_written(weights: "torch.Tensor", precision: Precision) -> "torch.Tensor":
    """Return a tensor in float32 as a file of a precision holds it."""
    import torch
    from gguf import quants

    kind = _kind(weights, precision)
    held = quants.dequantize(quants.quantize(weights.float().numpy(), kind), kind)
    return torch.from_numpy(held).float()


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


def _add_vocabulary(writer: Any, vocabulary: GgufVocabulary) -> None:
    writer.add_tokenizer_model(vocabulary.model)
    writer.add_tokenizer_pre(vocabulary.pre)
    writer.add_token_list(list(vocabulary.tokens))
    writer.add_token_types(list(vocabulary.types))
    if vocabulary.model == "gpt2":
        writer.add_token_merges(list(vocabulary.merges))
    else:
        writer.add_token_scores(list(vocabulary.scores))
        writer.add_add_space_prefix(vocabulary.adds_blank)
    writer.add_eos_token_id(vocabulary.end)
    for add, number in (
        (writer.add_bos_token_id, vocabulary.begin),
        (writer.add_pad_token_id, vocabulary.pad),
        (writer.add_unk_token_id, vocabulary.unknown),
    ):
        if number is not None:
            add(number)
    # No token is written before a prompt but those of the chat template.
    writer.add_add_bos_token(False)
    writer.add_add_eos_token(False)
    writer.add_chat_template(vocabulary.chat_template)


def _written(model: Path, config: Any) -> Iterator[tuple[str, "torch.Tensor"]]:
    """Yield the tensors that the file holds; a head that is tied to the embeddings is not one."""
    return ((name, weights) for name, weights in tensors_of(model) if name != HEAD or not config.tie_word_embeddings)


def _names(config: Any, model: Path) -> Callable[[str], str]:
    """Return what names a tensor as GGUF does, by its name in transformers."""
    from gguf import MODEL_ARCH, get_tensor_name_map

    known = get_tensor_name_map(MODEL_ARCH[config.model_type.upper()], config.num_hidden_layers)

    def name_of(tensor: str) -> str:
        name = known.get_name(tensor, try_suffixes=(".weight", ".bias"))
        if name is None:
            raise InputError(f"the tensor {tensor} of {model} is none of a {config.model_type} in GGUF; {REMEDY}")
        return str(name)

    return name_of


def _kind(weights: "torch.Tensor", precision: Precision) -> Any:
    from gguf import GGMLQuantizationType

    if weights.ndim == 1:
        return GGMLQuantizationType.F32
    if precision == "Q8_0" and weights.shape[-1] % BLOCK:
        # As llama.cpp does: a row that is no number of whole blocks stays in half precision.
        return GGMLQuantizationType.F16
    return GGMLQuantizationType[precision]


def _layout(weights: "torch.Tensor", kind: Any) -> tuple[Sequence[int], type]:
    """Return shape and type of a tensor's bytes."""
    import numpy as np
    from gguf import GGMLQuantizationType, quant_shape_to_byte_shape

    if kind == GGMLQuantizationType.Q8_0:
        return quant_shape_to_byte_shape(tuple(weights.shape), kind), np.uint8
    return tuple(weights.shape), np.float32 if kind == GGMLQuantizationType.F32 else np.float16
