"""`tucano ask`: the champion, another version or its base answers; what cannot be asked is refused in a sentence."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.flows.command import Ended, in_this_process
from tests.flows.promotable import Promotable, make_promotable

pytestmark = pytest.mark.integration
MODEL = "tucano2-commerce"
REVIEW = "Chegou quebrado"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Promotable:
    """A state folder with two versions, and no champion."""
    world = make_promotable(tmp_path_factory.mktemp("made") / "state")
    for seed in (1, 2):
        world.register(world.policy(seed), world.evaluation("promote", str(seed)), "promote", MODEL)
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
    assert "has no version 9; it has 2, 1" in _ask(shop, "sentiment", REVIEW, "--version", "9").text
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
    from io import StringIO

    monkeypatch.setattr("sys.stdin", StringIO(f"{REVIEW}\n"))
    (answer,) = _answers(_ask(shop, "sentiment", "--version", "1", "--json"))
    assert answer["prompt"].endswith(f"Avaliação: {REVIEW}")
