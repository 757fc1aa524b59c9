"""Answers of a version that was trained on claims: what does not hold of one is left out, named and logged."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas.tasks import TaskName
from tests.cases import cases_of
from tests.chat_server import says
from tests.gateway import Gateway, running, served_model
from tests.tasks.bag_of_words.test_bag import REVIEWS, learned

CASES = cases_of(__file__)
ASKED: dict[TaskName, dict[str, Any]] = CASES["ASKED"]


class Script:
    """What the model says next."""

    text = ""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    model = served_model(unlearned={"sql_qa": "execution accuracy 0.10, floor 0.30"})
    logs = tmp_path_factory.mktemp("logs")
    with running(logs, lambda message, number: says(Script.text, "stop"), model=model) as gateway:
        yield gateway


def _ask(shop: Gateway, task: TaskName, answer: str) -> dict[str, Any]:
    Script.text = answer
    response = shop.http.post(f"/v1/tasks/{task}", json=ASKED[task])
    assert response.is_success, response.text
    found: dict[str, Any] = response.json()
    assert found["checked"] == (found["reason"] is None)
    return found


@pytest.mark.parametrize("task", ASKED)
def test_no_word_of_a_hostile_answer_is_sent_and_the_reason_is(shop: Gateway, task: TaskName) -> None:
    for answer in CASES["HOSTILE"]:
        found = _ask(shop, task, answer)
        assert "COMPRE" not in json.dumps(found), answer
        assert not found["checked"], answer
        asked = {"model": f"champion/{task}", "messages": [shop.engine.requests[-1]["messages"][-1]]}
        chat = shop.http.post("/v1/chat/completions", json=asked).json()
        message = chat["choices"][0]["message"]
        assert (chat["checked"], chat["reason"], message["content"]) == (False, found["reason"], found["text"])
        assert message["refusal"] == (found["reason"] if found["text"] is None else None)


def test_true_parts_are_sent_and_both_it_and_the_answer_are_logged(shop: Gateway) -> None:
    for task, answer, reason, shown in CASES["PARTLY_TRUE"]:
        found = _ask(shop, task, answer)
        assert found["reason"].startswith(reason)
        assert shown in found["text"]
        line = shop.logged()[-1]
        assert (line["completion"], line["shown"], line["reason"]) == (answer, found["text"], found["reason"])


def test_a_bag_of_words_answers_in_the_place_of_the_engine_and_the_log_says_so(tmp_path: Path) -> None:
    model = served_model(bags={"sentiment": learned("sentiment", REVIEWS)})
    with running(tmp_path, lambda message, number: says("{}", "stop"), model=model) as gateway:
        found = gateway.ask("veio quebrado").json()
        chat = gateway.chat("Avaliação: adorei", temperature=0).json()["choices"][0]["message"]["content"]
        assert (json.loads(found["text"])["polarity"], json.loads(chat)["polarity"]) == ("negative", "positive")
        assert gateway.engine.requests == []
        assert {(line["model_version"], line["checked"]) for line in gateway.logged()} == {
            ("shop/1+bag-of-words", True)
        }
