"""A GGUF file is proven to be the version, and one with a fault in it is refused, whatever the fault."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schemas.errors import GateRefused
from tasks.serve.export import checks
from tasks.serve.export.gguf_file import PRECISIONS, Precision, write_gguf
from tasks.serve.export.gguf_reader import as_tokenizer, read_vocabulary
from tasks.serve.export.modelfile import write_modelfile
from tasks.serve.export.original import Original
from tasks.serve.export.proof import Version, ollama_reads, prove_gguf
from tasks.serve.export.vocabulary import CONTROL, NORMAL
from tasks.serve.served_model import Decoding
from tests.tasks.serve.export.faulty import Change, with_fault
from tests.tasks.serve.export.models import ROWS, save_model, version_of

Values = dict[str, Any]
DECODING = Decoding(temperature=0.1, max_tokens=8)


def _export(model: Path, folder: Path, precision: Precision = "F16") -> tuple[Path, Path]:
    file, beside = folder / f"m-{precision}.gguf", folder / f"Modelfile-{precision}"
    write_gguf(model, file, precision, name="m")
    write_modelfile(model, beside, file.name, DECODING)
    return file, beside


@pytest.fixture(scope="module")
def whole(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    _export(model, folder)
    return folder


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("pieces", [False, True])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_model_of_either_family_is_proven(precision: Precision, *, pieces: bool, tied: bool, tmp_path: Path) -> None:
    weights = save_model(tmp_path / "model", tied=tied, pieces=pieces)
    version = version_of(weights, ROWS[:4])
    file, beside = _export(weights, tmp_path, precision)
    # Ollama reads each Qwen3 with Qwen's tokenizer.
    assert ollama_reads(version, file) == (not pieces)
    found = prove_gguf(version, file, None if pieces else beside, precision)
    assert (found.prompts, found.tensors) == (4, 2 * 11 + (2 if tied else 3))
    assert found.difference <= max(1.1 * found.noise, 1e-5)
    if precision == "F16":
        assert found.equal == 4
        assert found.noise < 1e-5
    else:
        assert found.noise > 1e-3
    assert found.modelfile == (None if pieces else beside.name)
    assert read_vocabulary(tmp_path / f"m-{precision}.gguf").model == ("llama" if pieces else "gpt2")


def test_equal_models_have_equal_bytes(model: Path, tmp_path: Path, whole: Path) -> None:
    file, beside = _export(model, tmp_path)
    assert (file.read_bytes(), beside.read_text()) == (
        (whole / file.name).read_bytes(),
        (whole / beside.name).read_text(),
    )


def _set(name: str, value: Any) -> Change:
    return lambda values, _: values.update({name: value})


def _template(values: Values, _: Values) -> None:
    name = "tokenizer.chat_template"
    values[name] = values[name].replace("'<|im_end|>' + '\\n'", "'<|im_end|>'")


def _swapped(_: Values, tensors: Values) -> None:
    names = "blk.0.attn_k.weight", "blk.0.attn_v.weight"
    tensors[names[0]], tensors[names[1]] = tensors[names[1]], tensors[names[0]]


def _scaled(_: Values, tensors: Values) -> None:
    data, kind = tensors["blk.1.ffn_down.weight"]
    tensors["blk.1.ffn_down.weight"] = (data * np.float16(1.01), kind)


def _with_a_head(_: Values, tensors: Values) -> None:
    data, kind = tensors["token_embd.weight"]
    tensors["output.weight"] = (data[::-1].copy(), kind)


def _brain_floats(_: Values, tensors: Values) -> None:
    data, kind = tensors["blk.0.attn_q.weight"]
    bits = (data.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    tensors["blk.0.attn_q.weight"] = (bits.view(np.float16), kind)


def _permuted(_: Values, tensors: Values) -> None:
    """Order a head's rows as llama.cpp does for Llama, and not for Qwen."""
    data, kind = tensors["blk.0.attn_q.weight"]
    turned = data.reshape(4, 2, 8, 64).swapaxes(1, 2).reshape(data.shape)
    tensors["blk.0.attn_q.weight"] = (turned, kind)


def _norm(_: Values, tensors: Values) -> None:
    data, kind = tensors["blk.1.attn_q_norm.weight"]
    tensors["blk.1.attn_q_norm.weight"] = (np.ones_like(data), kind)


def _shifted(values: Values, _: Values) -> None:
    tokens = values["tokenizer.ggml.tokens"]
    values["tokenizer.ggml.tokens"] = [*tokens[:3], *tokens[4:], tokens[3]]


def _merged_late(values: Values, _: Values) -> None:
    values["tokenizer.ggml.merges"] = values["tokenizer.ggml.merges"][::-1]


def _end_is_text(values: Values, _: Values) -> None:
    types = values["tokenizer.ggml.token_type"]
    values["tokenizer.ggml.token_type"] = [NORMAL if kind == CONTROL else kind for kind in types]


FAULTS: Sequence[tuple[str, Change, str]] = (
    ("template", _template, "writes prompt 1 of 14 otherwise than training, from character"),
    ("EOS", _set("tokenizer.ggml.eos_token_id", 0), "has 0 as its EOS token, and the version 2"),
    ("BOS", _set("tokenizer.ggml.bos_token_id", 1), "has 1 as its BOS token, and the version None"),
    ("BOS written", _set("tokenizer.ggml.add_bos_token", True), "write a BOS token before each prompt"),
    ("swapped tensors", _swapped, "has other numbers in model.layers.0.self_attn.k_proj.weight"),
    ("wrong scale", _scaled, "has other numbers in model.layers.1.mlp.down_proj.weight than the version"),
    ("tied weights", _with_a_head, "has tie_word_embeddings False, and the version True"),
    ("dtype", _brain_floats, "has other numbers in model.layers.0.self_attn.q_proj.weight"),
    ("permuted heads", _permuted, "has other numbers in model.layers.0.self_attn.q_proj.weight"),
    ("norm", _norm, "has other numbers in model.layers.1.self_attn.q_norm.weight"),
    ("token shifted", _shifted, "has another token at 3 than the version's tokenizer"),
    ("merges", _merged_late, "has another merge at 0 than the version's tokenizer"),
    ("pre-tokenizer", _set("tokenizer.ggml.pre", "qwen2"), "has qwen2 as its pre-tokenizer, and the version smollm"),
    ("control tokens", _end_is_text, "has another type of token at 0 than the version's tokenizer"),
    ("rotation", _set("qwen3.rope.freq_base", 1e6), "has rope_theta 1000000.0, and the version 10000.0"),
    ("heads", _set("qwen3.attention.head_count_kv", 4), "has num_key_value_heads 4, and the version 2"),
    ("layers", _set("qwen3.block_count", 1), "has num_hidden_layers 1, and the version 2"),
)


@pytest.mark.parametrize(("change", "said"), [pytest.param(*fault[1:], id=fault[0]) for fault in FAULTS])
def test_a_planted_fault_is_refused(version: Version, whole: Path, tmp_path: Path, change: Change, said: str) -> None:
    file = with_fault(whole / "m-F16.gguf", tmp_path / "m-F16.gguf", change)
    with pytest.raises(GateRefused, match=said):
        prove_gguf(version, file, whole / "Modelfile-F16", "F16")


def test_without_a_fault_the_same_way_of_writing_is_proven(version: Version, whole: Path, tmp_path: Path) -> None:
    file = with_fault(whole / "m-F16.gguf", tmp_path / "m-F16.gguf", lambda *_: None)
    found = prove_gguf(version, file, whole / "Modelfile-F16", "F16")
    assert (found.equal, found.prompts) == (8, 8)


def test_a_file_that_was_cut_off_is_refused(version: Version, whole: Path, tmp_path: Path) -> None:
    file = tmp_path / "m-F16.gguf"
    file.write_bytes((whole / "m-F16.gguf").read_bytes()[:-4096])
    with pytest.raises(GateRefused, match=r"m-F16\.gguf cannot be read back"):
        prove_gguf(version, file, whole / "Modelfile-F16", "F16")


def test_a_modelfile_that_writes_another_prompt_is_refused(version: Version, whole: Path, tmp_path: Path) -> None:
    beside = tmp_path / "Modelfile-F16"
    beside.write_text((whole / "Modelfile-F16").read_text().replace("<|im_start|>assistant\n", "<|im_start|>assistant"))
    with pytest.raises(GateRefused, match="Modelfile-F16 writes prompt 1 of 14 otherwise"):
        prove_gguf(version, whole / "m-F16.gguf", beside, "F16")


@pytest.mark.parametrize("change", [_swapped, _scaled, _norm, _permuted])
def test_the_answers_alone_show_a_fault_in_the_weights(
    version: Version, whole: Path, tmp_path: Path, change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "require_same_weights", lambda *_: 0)
    file = with_fault(whole / "m-F16.gguf", tmp_path / "m-F16.gguf", change)
    with pytest.raises(GateRefused, match="nats a token from the version in the log-probabilities"):
        prove_gguf(version, file, whole / "Modelfile-F16", "F16")


def test_a_block_with_another_scale_is_refused(version: Version, model: Path, tmp_path: Path) -> None:
    def scaled(_: Values, tensors: Values) -> None:
        data, kind = tensors["blk.0.ffn_up.weight"]
        scales = data.copy()
        scales[0, :2] = (scales[0, :2].view(np.float16) * np.float16(1.02)).view(np.uint8)
        tensors["blk.0.ffn_up.weight"] = (scales, kind)

    file, beside = _export(model, tmp_path, "Q8_0")
    faulty = with_fault(file, tmp_path / "faulty.gguf", scaled)
    with pytest.raises(GateRefused, match=r"has other numbers in model.layers.0.mlp.up_proj.weight than the version"):
        prove_gguf(version, faulty, beside, "Q8_0")


def test_an_answer_with_other_words_is_refused(version: Version, whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal numbers cannot answer otherwise, so the answers are exchanged."""
    monkeypatch.setattr(Original, "answers_of", lambda self, *_: [[1, 2], *self.answers[1:]])
    with pytest.raises(GateRefused, match="answers 1 of 8 test prompts with other words"):
        prove_gguf(version, whole / "m-F16.gguf", whole / "Modelfile-F16", "F16")


def test_the_prompts_are_read_token_by_token(version: Version, whole: Path, tmp_path: Path) -> None:
    vocabulary = read_vocabulary(with_fault(whole / "m-F16.gguf", tmp_path / "faulty.gguf", _merged_late))
    with pytest.raises(GateRefused, match=r"the file reads prompt \d+ of 14 as other tokens, from token \d+ on"):
        checks.require_same_tokens("the file", version.original, as_tokenizer(vocabulary))
