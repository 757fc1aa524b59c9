"""A model at an endpoint answers as the others do: the same prompts and decoding, nothing asked twice or guessed."""

from pathlib import Path
from typing import Any

import pytest

from schemas.config.evaluate import RivalConfig
from schemas.documents import Rollout
from schemas.errors import InputError
from schemas.progress import silent
from schemas.tasks import TaskName
from tasks.evaluate.answers.files import ROLLOUTS_FILE, read_answers
from tasks.evaluate.answers.rival import answer_by_rival
from tasks.policy import endpoint
from tests.chat_server import ChatServer, Reply, in_turn, says, serve
from tests.prompt_tables import write_prompts
from tests.tasks.curate.prompt_rows import prompt_row

KEY = "sk-very-secret-4711"
TASKS: tuple[TaskName, ...] = ("push", "churn", "push")
ROWS = [prompt_row(task, f"Pedido {number}") for number, task in enumerate(TASKS)]


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "FIRST_WAIT_SECONDS", 0.001)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dataset")
    write_prompts(ROWS, folder / "data" / "test.parquet")
    return folder


def answer(server: ChatServer, dataset: Path, folder: Path, **values: Any) -> tuple[Rollout, ...]:
    samples = values.pop("samples", 1)
    (folder / "output").mkdir(parents=True, exist_ok=True)
    rival = {"name": "large", "url": server.url, "model": "large", "max_attempts": 2, "concurrency": 2, **values}
    answer_by_rival(
        RivalConfig.model_validate(rival),
        dataset,
        temperature=0.25,
        max_tokens=77,
        samples=samples,
        seed=5,
        work=folder / "work",
        output=folder / "output",
        progress=silent,
    )
    return read_answers(folder / "output")


def test_answers_before_a_failure_are_not_asked_again(dataset: Path, tmp_path: Path) -> None:
    with serve(lambda _, number: says("Compre.", "stop", (20, 4)) if number < 4 else Reply(b"", 500)) as server:
        with pytest.raises(InputError) as caught:
            answer(server, dataset, tmp_path / "failed", samples=2, concurrency=1)
        assert str(caught.value) == (
            f"the rival large's endpoint {server.url} answered 500 in each of 2 attempts; see that it serves the model "
            "there, or take large out of evaluate.rivals to compare without it"
        )
    assert not (tmp_path / "failed" / "output" / ROLLOUTS_FILE).exists()
    with serve(in_turn([says("Compre.", "stop", (20, 4))])) as server:
        resumed = answer(server, dataset, tmp_path / "failed", samples=2)
        assert len(server.requests) == 2
        assert answer(server, dataset, tmp_path / "failed", samples=2) == resumed
        assert len(server.requests) == 2
        assert answer(server, dataset, tmp_path / "whole", samples=2) == resumed


def test_requests_have_its_fields_and_no_file_its_key(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIVAL_KEY", KEY)
    body = {"reasoning_effort": "low", "chat_template_kwargs": {"enable_thinking": False}}
    with serve(in_turn([says("Compre.", "stop")])) as server:
        rollouts = answer(server, dataset, tmp_path, body=body, max_tokens=4096, key_variable="RIVAL_KEY")
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 3
    assert not [path for path in files if KEY in path.read_text(encoding="utf-8")]
    for request in server.requests:
        assert request["reasoning_effort"] == "low"
        assert request["chat_template_kwargs"] == {"enable_thinking": False}
        assert (request["model"], request["max_tokens"], request["temperature"]) == ("large", 4096, 0.25)
    assert (rollouts[0].model_extra or {})["decoding"] == "temperature 0.25, at most 4096 tokens"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("<think>\nCompre? Sim.\n</think>\n\nCompre.", "Compre."),
        # The template opened the thought itself.
        ("Compre? Sim.</think>Compre.", "Compre."),
        ("<think>Compre? Sim.", ""),
        ("Compre <b>já</b>.", "Compre <b>já</b>."),
    ],
)
def test_the_answer_is_what_follows_the_thought(dataset: Path, tmp_path: Path, text: str, kept: str) -> None:
    with serve(lambda prompt, _: says("Compre.") if prompt == ROWS[0].prompt else says(text, "stop")) as server:
        rollouts = answer(server, dataset, tmp_path)
    assert [rollout.completion for rollout in rollouts] == ["Compre.", kept, kept]
