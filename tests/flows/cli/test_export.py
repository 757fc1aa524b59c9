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
    for version, said in (("champion", "export one that is registered with `tucano export 2`"), ("2", "--format peft")):
        refused = _export(shop, version, "--format", "gguf", "--out", tmp_path / "new" / "out")
        assert (refused.returncode, said in refused.text) == (2, True)
    assert not (tmp_path / "new").exists()


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
    ("kind", "files", "use"),
    [
        ("safetensors", {"model.safetensors", "config.json", "generation_config.json", "proof.json"}, "vllm serve {}"),
        ("peft", {"adapter_config.json", "base/config.json", "proof.json"}, "AutoPeftModelForCausalLM"),
    ],
)
def test_weights_and_adapter_are_exported_and_their_use_is_named(
    shop: Promotable, tmp_path: Path, kind: str, files: set[str], use: str
) -> None:
    ended = _export(shop, "1", "--format", kind, "--out", tmp_path / "out")
    assert ended.returncode == 0, ended.text
    assert files <= _names(tmp_path / "out")
    assert not {"merge.json", "base/published.json"} & _names(tmp_path / "out")
    assert use.format(tmp_path / "out") in ended.stdout
