"""A GGUF file is proven to be the version, and one with a fault in it is refused, whatever the fault."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schemas.errors import GateRefused
from schemas.progress import silent
from tasks.serve.export.gguf_file import PRECISIONS, Precision, write_gguf
from tasks.serve.export.modelfile import ollama_reads, write_modelfile
from tasks.serve.export.original import Original
from tasks.serve.export.proof import prove_gguf
from tasks.serve.export.vocabulary import vocabulary_of
from tasks.serve.served_model import Decoding
from tests.tasks.serve.export.faulty import Change, with_fault
from tests.tasks.serve.export.models import ROWS, original_of, save_model

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
    original = original_of(weights, ROWS[:4])
    file, beside = _export(weights, tmp_path, precision)
    # Ollama reads each Qwen3 with Qwen's tokenizer.
    assert ollama_reads(weights, original.texts) == (not pieces)
    found = prove_gguf(original, file, None if pieces else beside, precision, silent)
    assert (found.prompts, found.tensors) == (4, 2 * 11 + (2 if tied else 3))
    if precision == "F16":
        assert found.equal == 4
        assert found.difference < 1e-5
    else:
        assert 1e-3 < found.difference < 0.1
    assert found.modelfile == (None if pieces else beside.name)


@pytest.mark.parametrize("pieces", [False, True])
def test_a_file_has_the_whole_vocabulary(*, pieces: bool, tmp_path: Path) -> None:
    from gguf import GGUFReader

    weights = save_model(tmp_path / "model", pieces=pieces)
    file, _ = _export(weights, tmp_path)
    written = {name: field.contents() for name, field in GGUFReader(file).fields.items()}
    own = vocabulary_of(original_of(weights, ROWS[:1]).tokenizer, len(written["tokenizer.ggml.tokens"]))
    named = {
        "model": own.model, "pre": own.pre, "tokens": own.tokens, "token_type": own.types, "merges": own.merges or None,
        "scores": own.scores or None, "eos_token_id": own.end, "bos_token_id": own.begin, "padding_token_id": own.pad,
        "unknown_token_id": own.unknown, "add_bos_token": False, "add_space_prefix": own.adds_blank if pieces else None,
    }  # fmt: skip
    assert {name: written.get(f"tokenizer.ggml.{name}") for name in named} == named
    assert written["tokenizer.chat_template"] == own.chat_template


def test_equal_models_have_equal_bytes(model: Path, tmp_path: Path, whole: Path) -> None:
    file, beside = _export(model, tmp_path)
    assert (file.read_bytes(), beside.read_text()) == (
        (whole / file.name).read_bytes(),
        (whole / beside.name).read_text(),
    )


def _set(name: str, value: Any) -> Change:
    return lambda values, _: values.update({name: value})


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


FAULTS: Sequence[tuple[str, Change, str]] = (
    ("swapped tensors", _swapped, "has no model.layers.0.self_attn.k_proj.weight with the version's numbers"),
    ("wrong scale", _scaled, "has no model.layers.1.mlp.down_proj.weight with the version's numbers"),
    ("tied weights", _with_a_head, "has a tensor lm_head.weight, which the version has not"),
    ("dtype", _brain_floats, "has no model.layers.0.self_attn.q_proj.weight with the version's numbers"),
    ("permuted heads", _permuted, "has no model.layers.0.self_attn.q_proj.weight with the version's numbers"),
    ("norm", _norm, "has no model.layers.1.self_attn.q_norm.weight with the version's numbers"),
    ("rotation", _set("qwen3.rope.freq_base", 1e2), r"answers \d of 8 test prompts with other words"),
    ("layers", _set("qwen3.block_count", 1), "has no model.layers.1"),
)


@pytest.mark.parametrize(("change", "said"), [pytest.param(*fault[1:], id=fault[0]) for fault in FAULTS])
def test_a_planted_fault_is_refused(original: Original, whole: Path, tmp_path: Path, change: Change, said: str) -> None:
    file = with_fault(whole / "m-F16.gguf", tmp_path / "m-F16.gguf", change)
    with pytest.raises(GateRefused, match=said):
        prove_gguf(original, file, whole / "Modelfile-F16", "F16", silent)


def test_without_a_fault_the_same_way_of_writing_is_proven(original: Original, whole: Path, tmp_path: Path) -> None:
    file = with_fault(whole / "m-F16.gguf", tmp_path / "m-F16.gguf", lambda *_: None)
    found = prove_gguf(original, file, whole / "Modelfile-F16", "F16", silent)
    assert (found.equal, found.prompts) == (8, 8)


def test_a_file_that_was_cut_off_is_refused(original: Original, whole: Path, tmp_path: Path) -> None:
    file = tmp_path / "m-F16.gguf"
    file.write_bytes((whole / "m-F16.gguf").read_bytes()[:-4096])
    with pytest.raises(GateRefused, match=r"m-F16\.gguf cannot be read back"):
        prove_gguf(original, file, whole / "Modelfile-F16", "F16", silent)


def test_a_modelfile_that_writes_another_prompt_is_refused(original: Original, whole: Path, tmp_path: Path) -> None:
    beside = tmp_path / "Modelfile-F16"
    beside.write_text((whole / "Modelfile-F16").read_text().replace("<|im_start|>assistant\n", "<|im_start|>assistant"))
    with pytest.raises(GateRefused, match="Modelfile-F16 writes prompt 1 of 14 otherwise"):
        prove_gguf(original, whole / "m-F16.gguf", beside, "F16", silent)


def test_a_block_with_another_scale_is_refused(original: Original, model: Path, tmp_path: Path) -> None:
    def scaled(_: Values, tensors: Values) -> None:
        data, kind = tensors["blk.0.ffn_up.weight"]
        scales = data.copy()
        scales[0, :2] = (scales[0, :2].view(np.float16) * np.float16(1.02)).view(np.uint8)
        tensors["blk.0.ffn_up.weight"] = (scales, kind)

    file, beside = _export(model, tmp_path, "Q8_0")
    faulty = with_fault(file, tmp_path / "faulty.gguf", scaled)
    with pytest.raises(GateRefused, match=r"has no model.layers.0.mlp.up_proj.weight with the version's numbers"):
        prove_gguf(original, faulty, beside, "Q8_0", silent)


def test_an_answer_with_other_words_is_refused(
    original: Original, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal numbers cannot answer otherwise, so the answers are exchanged."""
    monkeypatch.setattr(Original, "answers_of", lambda self, *_: [[1, 2], *self.answers[1:]])
    with pytest.raises(GateRefused, match="answers 1 of 8 test prompts with other words"):
        prove_gguf(original, whole / "m-F16.gguf", whole / "Modelfile-F16", "F16", silent)
