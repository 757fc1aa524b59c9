"""`tucano ask` and `export`: a version or its base answers, or is written as files; what cannot be is one sentence."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from flows.stages import registered_version
from schemas.errors import GateRefused
from tests.flows.children import run_here
from tests.flows.command import Ended, in_this_process
from tests.flows.promotable import Promotable, make_promotable

pytestmark = pytest.mark.integration
MODEL = "tucano2-commerce"
REVIEW = "Chegou quebrado"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Promotable:
    """A state folder with two versions of one adapter, a third with one for each task, and no champion."""
    world = make_promotable(tmp_path_factory.mktemp("made") / "state")
    for number, tasks in enumerate(((), (), ("push", "churn")), start=1):
        world.register(world.policy(number, tasks), world.evaluation("promote", str(number)), "promote", MODEL)
    return world


def _ask(shop: Promotable, *arguments: str | Path) -> Ended:
    return in_this_process("ask", *arguments, "--any", "--set", f"state.root={shop.root}", "--set", "seed=3")


def _answers(ended: Ended) -> list[dict[str, Any]]:
    assert ended.returncode == 0, ended.text
    answers: list[dict[str, Any]] = json.loads(ended.stdout)["answers"]
    return answers


def test_a_version_and_its_base_answer_each_with_its_own_weights(shop: Promotable) -> None:
    asked = ("extraction", REVIEW, "--any", "--json", "--version")
    first, second = (_answers(_ask(shop, *asked, number)) for number in ("1", "2"))
    base = _answers(_ask(shop, *asked, "1", "--base"))
    assert len({answers[0]["completion"] for answers in (first, second, base)}) == 3
    assert base == _unmeasured(_answers(_ask(shop, *asked, "2", "--base")), base)


def _unmeasured(answers: list[dict[str, Any]], like: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [answer | {"seconds": other["seconds"]} for answer, other in zip(answers, like, strict=True)]


def test_a_task_that_the_evaluation_did_not_find_learned_is_refused(shop: Promotable) -> None:
    asked = ("--version", "1", "--json", "--set", f"state.root={shop.root}")
    refused = in_this_process("ask", "sentiment", REVIEW, *asked)
    assert refused.returncode == 2
    assert "sentiment is not learned by version 1" in refused.text
    assert "--any" in refused.text
    assert "has no version 9; it has 3, 2, 1" in _ask(shop, "sentiment", REVIEW, "--version", "9").text
    learned = ("product=fone", "offer=20% de desconto", "segment=novos")
    for arguments in (("push", *learned), ("sentiment", REVIEW, "--base")):
        assert in_this_process("ask", *arguments, *asked).returncode == 0


def test_a_file_is_answered_in_its_order_and_scored_where_a_reference_is(shop: Promotable, tmp_path: Path) -> None:
    lines = [{"review": "Bom"}, {"review": REVIEW, "reference": {"polarity": "negative", "score": 1}}]
    file, out = tmp_path / "asked.jsonl", tmp_path / "answers.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    ended = _ask(shop, "sentiment", "--file", file, "--out", out, "--version", "1")
    assert ended.returncode == 0, ended.text
    written = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [answer["prompt"].splitlines()[-1] for answer in written] == ["Avaliação: Bom", f"Avaliação: {REVIEW}"]
    assert written[0]["reward"] is None
    assert written[1]["components"].keys() >= {"polarity", "score"}
    assert "2 answers" in ended.text


def test_a_review_is_read_from_a_pipe(shop: Promotable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{REVIEW}\n"))
    (answer,) = _answers(_ask(shop, "sentiment", "--version", "1", "--json"))
    assert answer["prompt"].endswith(f"Avaliação: {REVIEW}")


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
    for version, said in (("champion", "export one that is registered with `tucano export 3`"), ("3", "--format peft")):
        refused = _export(shop, version, "--format", "gguf", "--out", tmp_path / "new" / "out")
        assert (refused.returncode, said in refused.text) == (2, True)
    assert not (tmp_path / "new").exists()


def test_what_differs_is_refused_with_exit_code_3_and_nothing_is_left(
    shop: Promotable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: str, __: Any, work: Path, **___: Any) -> str:
        work.mkdir(parents=True)
        (work / "child.log").touch()
        raise GateRefused("the file is not the version; nothing is exported")

    monkeypatch.setattr(registered_version, "run_child", refuse)
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
    shop: Promotable, tmp_path: Path, kind: str, files: set[str], use: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registered_version, "run_child", run_here)
    ended = _export(shop, "1", "--format", kind, "--out", tmp_path / "out")
    assert ended.returncode == 0, ended.text
    assert files <= _names(tmp_path / "out")
    assert not {"merge.json", "base/published.json"} & _names(tmp_path / "out")
    assert use.format(tmp_path / "out") in ended.stdout
