"""`tucano export`: a version as files for other programs; what cannot be exported is refused, and leaves nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import GateRefused
from tests.flows.command import Ended, in_this_process
from tests.flows.promotable import Promotable, make_promotable

pytestmark = pytest.mark.integration
MODEL = "tucano2-commerce"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Promotable:
    """A state folder with a version of one adapter, another with one for each task, and no champion."""
    world = make_promotable(tmp_path_factory.mktemp("made") / "state")
    for number, tasks in enumerate(((), ("push", "churn")), start=1):
        world.register(world.policy(number, tasks), world.evaluation("promote", str(number)), "promote", MODEL)
    return world


def _export(shop: Promotable, *arguments: str | Path) -> Ended:
    length = "train.max_completion_tokens=16"
    return in_this_process("export", *arguments, "--set", f"state.root={shop.root}", "--set", length)


def _document(ended: Ended) -> dict[str, Any]:
    assert ended.returncode == 0, ended.text
    document: dict[str, Any] = json.loads(ended.stdout)
    return document


def _names(folder: Path) -> set[str]:
    return {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}


def test_a_version_is_exported_as_gguf_with_a_modelfile_for_each(shop: Promotable, tmp_path: Path) -> None:
    document = _document(_export(shop, "1", "--format", "gguf", "--out", tmp_path / "out", "--json"))
    files = [f"{MODEL}-1-{precision}.gguf" for precision in ("F16", "Q8_0")]
    assert _names(tmp_path / "out") == {*files, "Modelfile-F16", "Modelfile-Q8_0", "proof.json"}
    assert [file["name"] for file in document["files"]] == files
    assert document["files"][0]["equal"] == document["files"][0]["prompts"] == 1
    assert document == {**json.loads((tmp_path / "out" / "proof.json").read_text()), "folder": str(tmp_path / "out")}
    assert str(tmp_path) not in (tmp_path / "out" / "proof.json").read_text()
    assert list(shop.root.glob("work/export*")) == []


def test_merged_weights_are_exported_with_the_evaluated_decoding(shop: Promotable, tmp_path: Path) -> None:
    ended = _export(shop, "1", "--format", "safetensors", "--out", tmp_path / "out")
    assert ended.returncode == 0, ended.text
    assert {"model.safetensors", "config.json", "tokenizer.json", "proof.json"} <= _names(tmp_path / "out")
    assert "merge.json" not in _names(tmp_path / "out")
    assert json.loads((tmp_path / "out" / "generation_config.json").read_text())["max_new_tokens"] == 16
    assert "Version 1 of tucano2-commerce, read back by transformers" in ended.text
    assert f"use it: vllm serve {tmp_path / 'out'}" in ended.stdout


def test_an_adapter_is_found_by_peft_with_its_base(shop: Promotable, tmp_path: Path) -> None:
    from peft import AutoPeftModelForCausalLM

    _document(_export(shop, "1", "--format", "peft", "--out", tmp_path / "out", "--json"))
    model = AutoPeftModelForCausalLM.from_pretrained(tmp_path / "out")
    assert model.peft_config["default"].base_model_name_or_path == str(tmp_path / "out" / "base")
    assert "published.json" not in _names(tmp_path / "out" / "base")


def test_what_differs_is_refused_with_exit_code_3_and_nothing_is_left(
    shop: Promotable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flows.stages import export

    def refuse(_: str, __: Any, work: Path, **___: Any) -> str:
        work.mkdir(parents=True)
        (work / "child.log").touch()
        raise GateRefused("the file is not the version; nothing is exported")

    monkeypatch.setattr(export, "run_child", refuse)
    ended = _export(shop, "1", "--format", "gguf", "--out", tmp_path / "out")
    assert (ended.returncode, ended.text.strip()) == (3, "tucano: the file is not the version; nothing is exported")
    assert list(tmp_path.glob(".out-*")) == []
    assert not (tmp_path / "out").exists()
    assert list(shop.root.glob("work/export*")) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("champion", "--format", "gguf"), "export one that is registered with `tucano export 2`, or promote one"),
        (("9", "--format", "gguf"), "has no version 9; it has 2, 1"),
        (("2", "--format", "gguf"), "has an adapter for each of churn, push, which are no one model; export it with"),
        (("2", "--format", "safetensors"), "--format peft"),
        (("1", "--format", "onnx"), "onnx"),
    ],
)
def test_what_cannot_be_exported_is_refused(
    shop: Promotable, arguments: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    ended = _export(shop, *arguments, "--out", tmp_path / "new" / "out")
    assert ended.returncode == 2
    assert said in ended.text
    assert list(tmp_path.iterdir()) == []
