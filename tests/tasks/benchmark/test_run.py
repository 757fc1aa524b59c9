"""A model at an endpoint is asked each item once, and an interrupted run resumes."""

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.config.section import EndpointSection
from schemas.errors import InputError
from schemas.progress import silent
from tasks.benchmark.answers import read_answers
from tasks.benchmark.run import run_endpoint
from tasks.benchmark.scorers import Benchmark
from tests.chat_server import Reply, in_turn, says, serve


def ask(url: str, folder: Path, out: Path, **other: Any) -> None:
    section = EndpointSection(url=url, model=other.pop("model", "m"), max_attempts=1, concurrency=1)
    options = {"temperature": 0.5, "max_tokens": 20, "seed": 0, "progress": silent, **other}
    run_endpoint(list(Benchmark(folder).items.values()), section, out, **options)


def test_each_item_is_asked_once_with_its_messages(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    items = list(Benchmark(folder).items.values())
    with serve(in_turn([says("Olá")])) as server:
        ask(server.url, folder, out)
        ask(server.url, folder, out)
    assert len(server.requests) == len(items)
    sent = {json.dumps(request["messages"], sort_keys=True) for request in server.requests}
    assert sent == {
        json.dumps(
            [{"role": "system", "content": item.system}, {"role": "user", "content": item.prompt}], sort_keys=True
        )
        for item in items
    }
    answers = read_answers(out, items)
    assert {answer.completion for answer in answers} == {"Olá"}
    assert {answer.source for answer in answers} == {"m, temperature 0.5, 20 tokens, seed 0"}


def test_answers_before_a_failure_are_kept_and_not_asked_again(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    with (
        serve(in_turn([says("a"), says("b"), Reply(b"", 400)])) as server,
        pytest.raises(InputError, match="2 of 36 answers"),
    ):
        ask(server.url, folder, out)
    with out.open("ab") as file:
        file.write(b'{"id": "half a li')
    with serve(in_turn([says("c")])) as server:
        ask(server.url, folder, out)
    assert len(server.requests) == 34
    texts = [answer.completion for answer in read_answers(out, list(Benchmark(folder).items.values()))]
    assert texts == ["a", "b", *["c"] * 34]
