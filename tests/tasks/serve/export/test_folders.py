"""A folder of safetensors, and an adapter that names its base, are proven to be the version, or refused."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import GateRefused
from schemas.progress import silent
from tasks.serve.export.folders import name_base, published_base, write_adapter_folder, write_base, write_folder
from tasks.serve.export.original import Original, ask_original, load_exact
from tasks.serve.export.proof import prove_adapter, prove_folder
from tasks.serve.served_model import Decoding
from tests.tasks.policy.test_adapters import save_adapter
from tests.tasks.serve.export.models import LONGEST, ROWS

Fault = Callable[[Path], None]


def test_a_folder_is_proven_and_has_the_evaluated_decoding(original: Original, tmp_path: Path) -> None:
    write_folder(original.weights, tmp_path / "out", Decoding(0.3, 8))
    found = prove_folder(original, tmp_path / "out", silent)
    assert (found.equal, found.prompts, found.difference) == (8, 8, 0.0)
    decoding = json.loads((tmp_path / "out" / "generation_config.json").read_text(encoding="utf-8"))
    assert (decoding["temperature"], decoding["max_new_tokens"]) == (0.3, 8)


def _json(name: str, **changed: Any) -> Fault:
    def change(folder: Path) -> None:
        file = folder / name
        file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | changed), encoding="utf-8")

    return change


def _tensors(change: Callable[[dict[str, Any]], object], name: str = "model.safetensors") -> Fault:
    def changed(folder: Path) -> None:
        from safetensors.torch import load_file, save_file

        tensors = load_file(folder / name)
        change(tensors)
        save_file(tensors, folder / name, metadata={"format": "pt"})

    return changed


def _template(folder: Path) -> None:
    file = folder / "chat_template.jinja"
    file.write_text(file.read_text(encoding="utf-8").replace("assistant", "user"), encoding="utf-8")


def _swap(tensors: dict[str, Any]) -> None:
    names = "model.layers.0.self_attn.k_proj.weight", "model.layers.1.self_attn.k_proj.weight"
    tensors[names[0]], tensors[names[1]] = tensors[names[1]], tensors[names[0]]


def _token(folder: Path) -> None:
    file = folder / "tokenizer.json"
    rules = json.loads(file.read_text(encoding="utf-8"))
    words = rules["model"]["vocab"]
    words["a"], words["b"] = words["b"], words["a"]
    file.write_text(json.dumps(rules), encoding="utf-8")


FAULTS: Sequence[tuple[str, Fault, str]] = (
    ("template", _template, "writes prompt 1 of 14 otherwise than training"),
    ("EOS", _json("generation_config.json", eos_token_id=0), "ends an answer with token 0, and the version with 2"),
    ("token", _token, "reads prompt 1 of 14 as other tokens"),
    ("swapped tensors", _tensors(_swap), r"has no model.layers.0.self_attn.k_proj.weight with the version's numbers"),
    (
        "dtype",
        _tensors(lambda found: found.update({n: w.float() for n, w in found.items()})),
        "numbers in torch.bfloat16",
    ),
    ("lost", _tensors(lambda found: found.pop("model.norm.weight")), "has no model.norm.weight with"),
    (
        "rotation",
        _json("config.json", rope_parameters={"rope_theta": 5e5, "rope_type": "default"}),
        "nats a token from the version",
    ),
    ("norms", _json("config.json", rms_norm_eps=1e-3), "nats a token from the version"),
)


@pytest.mark.parametrize(("plant", "said"), [pytest.param(*fault[1:], id=fault[0]) for fault in FAULTS])
def test_a_fault_in_a_folder_is_refused(original: Original, tmp_path: Path, plant: Fault, said: str) -> None:
    write_folder(original.weights, tmp_path / "out", Decoding(0.3, 8))
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


def _export(adapted: Original, adapter: Path, folder: Path) -> Path:
    write_base(adapted.weights, folder / "base")
    write_adapter_folder(adapter, adapted.weights, folder)
    name_base(folder, str(folder / "base"), None)
    return folder


def test_an_adapter_is_found_with_its_base(
    adapted: Original, original: Original, adapter: Path, tmp_path: Path
) -> None:
    found = prove_adapter(adapted, _export(adapted, adapter, tmp_path / "out"), adapter, ".", silent)
    assert (found.equal, found.prompts, found.difference) == (8, 8, 0.0)
    assert adapted.answers != original.answers


def _without_base(folder: Path) -> None:
    shutil.rmtree(folder / "base")


ADAPTER_FAULTS: Sequence[tuple[str, Fault, str]] = (
    ("no base", _without_base, "which is no folder here"),
    ("base not named", _json("adapter_config.json", base_model_name_or_path=None), "names as its base None"),
    ("scale", _json("adapter_config.json", lora_alpha=9), "nats a token from the version"),
    ("template", _template, "writes prompt 1 of 14 otherwise"),
    (
        "lost",
        _tensors(lambda found: found.pop(min(found)), "adapter_model.safetensors"),
        "has no base_model.model.model.layers.0",
    ),
    ("another base", lambda folder: _tensors(_swap)(folder / "base"), "nats a token from the version"),
)


@pytest.mark.parametrize(("plant", "said"), [pytest.param(*fault[1:], id=fault[0]) for fault in ADAPTER_FAULTS])
def test_a_fault_in_an_adapter_is_refused(
    adapted: Original, adapter: Path, tmp_path: Path, plant: Fault, said: str
) -> None:
    folder = _export(adapted, adapter, tmp_path / "out")
    plant(folder)
    with pytest.raises(GateRefused, match=said):
        prove_adapter(adapted, folder, adapter, ".", silent)


@pytest.mark.parametrize(
    ("published", "files", "named"),
    [
        ({"name": "a/b", "revision": None, "commit": "c0"}, [], ("a/b", "c0")),
        ({"name": "a/b", "revision": None, "commit": "c0"}, ["warm_start.json"], None),
        ({"name": "a/b", "revision": None, "commit": "c0"}, ["warm_start.json", "adapter/x"], ("a/b", "c0")),
        ({"name": "stand-in", "revision": None, "commit": None}, [], None),
        (None, [], None),
    ],
)
def test_a_base_is_the_hubs_only_where_its_weights_are(
    published: Any, files: Sequence[str], named: tuple[str, str] | None, tmp_path: Path
) -> None:
    for file in files:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).touch()
    if published is not None:
        (tmp_path / "published.json").write_text(json.dumps(published), encoding="utf-8")
    assert published_base(tmp_path) == named
