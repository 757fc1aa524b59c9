"""`tucano ask`, `export`, `promote` and `monitor`: answers, files, the champion, drift, and refusals."""

import io
import json
import shutil
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from flows.stages import registered_version
from tests.flows.children import run_here
from tests.flows.command import Ended, in_this_process
from tests.flows.monitored import shared_world
from tests.flows.prefect_state import prefect_state
from tests.flows.promotable import WHY_HELD, Promotable, make_promotable, store_of
from tests.tasks.bag_of_words.test_bag import REVIEWS, learned
from tests.tasks.lineage.small_world import MODEL
from tests.tasks.monitor.logged import answer, write_log

pytestmark = pytest.mark.integration
REVIEW = "Chegou quebrado"
GARBAGE = "Prezado cliente, segue em anexo a proposta comercial."
PUSH = ("product=fone", "offer=20% de desconto", "segment=novos")


def _ask(shop: Promotable, *arguments: str | Path) -> Ended:
    return in_this_process("ask", *arguments, "--any", "--set", f"state.root={shop.root}", "--set", "seed=3")


def test_a_version_and_its_base_answer_each_with_its_own_weights(shop: Promotable) -> None:
    def answers(*arguments: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = _ask(shop, "extraction", REVIEW, "--json", *arguments).document()["answers"]
        return [answer | {"seconds": 0} for answer in found]

    first, second, base = (answers("--version", *number) for number in (("1",), ("2",), ("1", "--base")))
    assert len({each[0]["completion"] for each in (first, second, base)}) == 3
    assert base == answers("--version", "2", "--base")


def test_a_task_that_the_evaluation_did_not_find_learned_is_refused(shop: Promotable) -> None:
    asked = ("--version", "1", "--json", "--set", f"state.root={shop.root}")
    refused = in_this_process("ask", "sentiment", REVIEW, *asked).refusal()
    assert "sentiment is not learned by version 1" in refused
    assert "--any" in refused
    assert "has no version 9; it has 3, 2, 1" in _ask(shop, "sentiment", REVIEW, "--version", "9").refusal()
    for arguments in (("push", *PUSH), ("sentiment", REVIEW, "--base")):
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
    (answer,) = _ask(shop, "sentiment", "--version", "1", "--json").document()["answers"]
    assert answer["prompt"].endswith(f"Avaliação: {REVIEW}")


def _export(shop: Promotable, version: str, kind: str, out: Path, *more: str) -> Ended:
    settings = ("--set", f"state.root={shop.root}", "--set", "train.max_completion_tokens=16")
    return in_this_process("export", version, "--format", kind, "--out", out, *settings, *more)


def _names(folder: Path) -> set[str]:
    return {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}


def test_a_version_is_exported_as_gguf_with_a_modelfile_for_each(shop: Promotable, tmp_path: Path) -> None:
    out = tmp_path / "out"
    document = _export(shop, "1", "gguf", out, "--json").document()
    files = [f"{MODEL}-1-{precision}.gguf" for precision in ("F16", "Q8_0")]
    assert _names(out) == {*files, "Modelfile-F16", "Modelfile-Q8_0", "proof.json"}
    assert [file["name"] for file in document["files"]] == files
    assert document["files"][0]["equal"] == document["files"][0]["prompts"] == 1
    assert document == {**json.loads((out / "proof.json").read_text()), "folder": str(out)}
    assert str(tmp_path) not in (out / "proof.json").read_text()
    assert list(shop.root.glob("work/export*")) == []
    for version, said in (("champion", "export one that is registered with `tucano export 3`"), ("3", "--format peft")):
        assert said in _export(shop, version, "gguf", tmp_path / "new" / "out").refusal()
    assert not (tmp_path / "new").exists()


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
    ended = _export(shop, "1", kind, tmp_path / "out")
    assert ended.returncode == 0, ended.text
    assert files <= _names(tmp_path / "out")
    assert not {"merge.json", "base/published.json"} & _names(tmp_path / "out")
    assert use.format(tmp_path / "out") in ended.stdout


@dataclass(frozen=True)
class Desk:
    """A state folder with versions, and a Prefect server that records what is done."""

    world: Promotable
    server: str

    def tucano(self, *arguments: str) -> Ended:
        root = self.world.root
        with patch.dict("os.environ", {"PREFECT_API_URL": self.server}), prefect_state(self.server, root):
            return in_this_process("promote", *arguments, "--set", f"state.root={root}")

    @property
    def aliases(self) -> dict[str, str]:
        return self.world.aliases(MODEL)

    def move(self, version: str) -> None:
        self.world.registry.promote(MODEL, "champion", "previous", version, promotion="9" * 64)

    def runs(self, **tags: str) -> list[Any]:
        client = self.world.registry._client
        experiment = client.get_experiment_by_name(MODEL)
        wanted = " and ".join(f"tags.{name} = '{value}'" for name, value in tags.items())
        return list(client.search_runs([experiment.experiment_id], wanted))


@pytest.fixture
def desk(shop: Promotable, prefect_server: str) -> Desk:
    return Desk(shop, prefect_server)


def test_a_registered_version_is_promoted_and_a_held_one_by_force_and_that_is_taken_back(desk: Desk) -> None:
    document = desk.tucano("1", "--json").document()
    assert (document["version"], document["promoted"], document["verdict"]) == ("1", True, "promote")
    assert desk.aliases == {"champion": "1"}
    assert (Path(document["path"]) / "merged" / "model.safetensors").exists()

    held = desk.tucano("2", "--json")
    against = "it was not compared with version 1, which is `champion` now"
    assert (held.document(3)["reasons"], held.document(3)["promoted"]) == ([WHY_HELD, against], False)
    assert (
        f"the gate holds version 2 of {MODEL}: {WHY_HELD}; {against}; its report names what would help, "
        "and --force REASON promotes it all the same"
    ) in held.stderr
    assert desk.aliases == {"champion": "1"}

    forced = desk.tucano("2", "--force", "a loja aceita o risco", "--json")
    assert "was not compared with version 1" in forced.stderr
    assert (forced.document()["forced"], forced.document()["verdict"]) == ("a loja aceita o risco", "hold")
    assert desk.aliases == {"champion": "2", "previous": "1"}
    assert desk.world.registry.version(MODEL, "2").forced == "a loja aceita o risco"
    card = Path(forced.document()["path"]) / "README.md"
    assert "a loja aceita o risco" in card.read_text(encoding="utf-8")
    assert len(desk.runs(forced="a loja aceita o risco")) == 2

    back = desk.tucano("--rollback", "--json")
    assert back.document() == {"model": MODEL, "alias": "champion", "version": "1", "rolled_back": "2"}
    assert f"version 2 of {MODEL} is left: `champion` is version 1 again" in back.stderr
    assert desk.aliases == {"champion": "1"}
    assert len(desk.runs(rolled_back="2", version="1")) == 1

    desk.move("2")
    newest = f"the gate holds version 3 of {MODEL}: it was not compared with version 2, which is `champion` now"
    assert newest in desk.tucano().refusal(3)
    assert desk.aliases == {"champion": "2", "previous": "1"}


def test_a_bag_of_words_answers_its_task_until_a_model_is_promoted(tmp_path: Path, prefect_server: str) -> None:
    world = make_promotable(tmp_path / "state")
    bag = learned("sentiment", REVIEWS)
    for seed, gain in ((1, 0.0), (2, 0.0625)):
        world.register(world.policy(seed), world.evaluation("hold", bag=bag, gain=gain), "hold", MODEL)
    desk = Desk(world, prefect_server)
    better = desk.tucano("2", "--baseline", "sentiment", "--json")
    assert not better.document(3)["promoted"]
    assert "the tuned model is better in sentiment" in better.stderr
    refused = desk.tucano("1", "--baseline", "push").refusal()
    assert "has no bag of words for push; it has sentiment" in refused
    assert desk.tucano("1", "--baseline", "sentiment").returncode == 0
    assert desk.aliases == {"champion": "1"}

    def ask(*asked: str) -> Ended:
        return in_this_process("ask", *asked, "--json", "--set", f"state.root={world.root}")

    document = ask("sentiment", "veio quebrado").document()
    assert document["answered_by"] == "the bag of words of version 1"
    assert json.loads(document["answers"][0]["text"]) == {"polarity": "negative", "score": 1}
    assert "push is not learned by version 1 (the gate holds its policy)" in ask("push", *PUSH).refusal()
    assert desk.tucano("2", "--baseline", "sentiment", "--force", "teste").returncode == 0
    assert desk.aliases == {"champion": "1"}
    assert len(desk.runs(baseline="sentiment", forced="teste")) == 1
    desk.move("1")
    assert world.registry.version(MODEL, "1").baselines == {}


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (["7"], f"{MODEL} has no version 7; it has 3, 2, 1"),
        (["2", "--force", "um\ndois"], "is not one line of plain text"),
        (["--set", "promote.model_name=another"], "no version of another is registered in"),
    ],
)
def test_a_mistake_is_one_sentence_and_moves_nothing(desk: Desk, arguments: list[str], reported: str) -> None:
    assert reported in desk.tucano(*arguments).refusal()
    assert desk.aliases == {}


@pytest.mark.parametrize(
    ("part", "harm"), [("evaluation", "altered"), ("policy", "altered"), ("base", "lost"), ("dataset", "lost")]
)
def test_a_version_with_lost_or_altered_parts_is_not_promoted(desk: Desk, part: str, harm: str, tmp_path: Path) -> None:
    root = Path(shutil.copytree(desk.world.root, tmp_path / "state"))
    version = desk.world.registry.version(MODEL, "1")
    sha256 = getattr(version, part) if hasattr(version, part) else getattr(desk.world, part).sha256
    content = store_of(root).path(sha256)
    if harm == "lost":
        shutil.rmtree(content.parent)
    else:
        file = next(file for file in sorted(content.rglob("*")) if file.is_file())
        file.chmod(0o644)
        file.write_bytes(file.read_bytes() + b" ")
    refused = in_this_process("promote", "1", "--set", f"state.root={root}").refusal()
    assert f"the {part} of version 1 of {MODEL} is lost or damaged: " in refused
    assert "make it again with `tucano retrain`" in refused
    assert replace(desk.world, root=root).aliases(MODEL) == {}


def test_drift_ends_with_3(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, prefect_server: str) -> None:
    root = shared_world(tmp_path_factory.getbasetemp()).root
    now = datetime.now(UTC)
    times = [(now - timedelta(hours=hour)).isoformat() for hour in range(200)]
    own: dict[str, Any] = {"model_version": f"{MODEL}/1", "role": "champion", "rating": 2}
    logs = write_log(tmp_path / "log.jsonl", [answer(time=time, completion=GARBAGE, **own) for time in times])
    report = tmp_path / "report"
    place = ("--set", f"state.root={root}", "--set", "monitor.workers=1")
    with prefect_state(prefect_server, root):
        ended = in_this_process("monitor", logs, "--report", report, "--json", *place)
    document = ended.document(3)
    assert document["drift"]["found"]
    assert document["logs"]["answers"] == 200
    assert {file.name for file in report.iterdir()} == {"report.html", "report.md", "drift.json", "daily.parquet"}
    assert "Ratings from 1 to 5, on average: push 2.00 of 200 answers." in ended.text
    assert f"report: {report / 'report.html'}" in ended.text
