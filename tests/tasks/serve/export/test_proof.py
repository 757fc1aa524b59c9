"""An export is proven to be the version, whatever its format, and one with a fault in it is refused."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import GateRefused
from schemas.progress import silent
from tasks.serve.export.child import name_base, write_adapter_folder, write_folder
from tasks.serve.export.gguf_file import Precision, vocabulary_of, write_gguf
from tasks.serve.export.proof import Original, ask_original, load_exact, prove_adapter, prove_folder, prove_gguf
from tasks.serve.served_model import Decoding
from tests.contracts.tokenizers.published import Kind
from tests.tasks.policy.test_adapters import save_adapter
from tests.tasks.serve.export.models import LONGEST, ROWS, original_of, save_model

Fault = Callable[[Path], None]
Values = dict[str, Any]


def _json(name: str, **changed: Any) -> Fault:
    def change(folder: Path) -> None:
        file = folder / name
        file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | changed), encoding="utf-8")

    return change


def _tensors(change: Callable[[Values], object]) -> Fault:
    def changed(folder: Path) -> None:
        from safetensors.torch import load_file, save_file

        tensors = load_file(folder / "model.safetensors")
        change(tensors)
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})

    return changed


def _template(folder: Path) -> None:
    file = folder / "chat_template.jinja"
    file.write_text(file.read_text(encoding="utf-8").replace("assistant", "user"), encoding="utf-8")


def _swap(tensors: Values) -> None:
    names = "model.layers.0.self_attn.k_proj.weight", "model.layers.1.self_attn.k_proj.weight"
    tensors[names[0]], tensors[names[1]] = tensors[names[1]], tensors[names[0]]


def _token(folder: Path) -> None:
    file = folder / "tokenizer.json"
    rules = json.loads(file.read_text(encoding="utf-8"))
    words = rules["model"]["vocab"]
    words["a"], words["b"] = words["b"], words["a"]
    file.write_text(json.dumps(rules), encoding="utf-8")


def _cut(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-4096])


APART = "nats a token from the version"
FOLDER_FAULTS: Sequence[tuple[str, Fault, str]] = (
    ("template", _template, "writes prompt 1 of 14 otherwise than training"),
    ("EOS", _json("generation_config.json", eos_token_id=0), "ends an answer with token 0, and the version with 2"),
    ("token", _token, "reads prompt 1 of 14 as other tokens"),
    ("swapped tensors", _tensors(_swap), APART),
    ("cut off", _cut, "cannot be read back"),
)


@pytest.mark.parametrize(("plant", "said"), [pytest.param(*fault[1:], id=fault[0]) for fault in FOLDER_FAULTS])
def test_faulty_folder_is_refused(model: Path, original: Original, tmp_path: Path, plant: Fault, said: str) -> None:
    write_folder(model, tmp_path / "out", Decoding(0.3, 8))
    plant(tmp_path / "out")
    with pytest.raises(GateRefused, match=said):
        prove_folder(original, tmp_path / "out", silent)


@pytest.fixture(scope="module")
def adapter(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_adapter(model, tmp_path_factory.mktemp("policy") / "adapter", 5)


@pytest.fixture(scope="module")
def adapted(model: Path, adapter: Path) -> Original:
    from peft import PeftModel

    own = PeftModel.from_pretrained(load_exact(model), adapter).eval()
    return ask_original(own, model, ROWS, None, LONGEST, silent)


def _with_base(model: Path, adapter: Path, folder: Path) -> Path:
    shutil.copytree(model, folder / "base")
    write_adapter_folder(adapter, model, folder)
    name_base(folder, str(folder / "base"), None)
    return folder


ADAPTER_FAULTS: Sequence[tuple[str, Fault, str]] = (
    ("no base", lambda folder: shutil.rmtree(folder / "base"), "which is no folder here"),
    ("base not named", _json("adapter_config.json", base_model_name_or_path=None), "names as its base None"),
    ("template", _template, "writes prompt 1 of 14 otherwise"),
    ("another base", lambda folder: _tensors(_swap)(folder / "base"), APART),
)


@pytest.mark.parametrize(("plant", "said"), [pytest.param(*fault[1:], id=fault[0]) for fault in ADAPTER_FAULTS])
def test_a_fault_in_an_adapter_is_refused(
    model: Path, adapted: Original, adapter: Path, tmp_path: Path, plant: Fault, said: str
) -> None:
    folder = _with_base(model, adapter, tmp_path / "out")
    plant(folder)
    with pytest.raises(GateRefused, match=said):
        prove_adapter(adapted, folder, ".", silent)


@pytest.mark.parametrize(
    ("precision", "family", "kind", "tied"),
    [
        ("F16", "qwen3", None, True),
        ("F16", "qwen3", "sentencepiece", False),
        ("F16", "qwen3", "byte-level words", True),
        ("Q8_0", "qwen2", "sentencepiece", True),
        ("F16", "llama", None, True),
        ("Q8_0", "llama", None, True),
    ],
)
def test_gguf_of_each_family(
    precision: Precision, family: str, kind: Kind | None, *, tied: bool, tmp_path: Path
) -> None:
    from gguf import GGUFReader

    weights = save_model(tmp_path / "model", tied=tied, kind=kind, family=family)
    original, file = original_of(weights, ROWS[:4]), tmp_path / "m.gguf"
    write_gguf(weights, file, precision, name="m")
    found = prove_gguf(original, file, None, precision, silent)
    if precision == "F16":
        assert (found.equal, found.prompts) == (4, 4)
        assert found.difference < 1e-5
    else:
        assert 1e-3 < found.difference < 0.1
    written = {name.split(".", 1)[1]: field.contents() for name, field in GGUFReader(file).fields.items()}
    own = vocabulary_of(original.tokenizer, len(written["ggml.tokens"]))
    other = {
        "tokenizer_model": "model", "tokenizer_pre": "pre", "token_list": "tokens", "token_types": "token_type",
        "token_merges": "merges", "token_scores": "scores", "pad_token_id": "padding_token_id",
        "unk_token_id": "unknown_token_id",
    }  # fmt: skip
    assert own.pop("chat_template") == written.pop("chat_template")
    assert own == {name: written[f"ggml.{other.get(name, name)}"] for name in own}


def test_equal_models_have_equal_bytes(model: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_gguf(model, tmp_path / name, "F16", name="m")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
