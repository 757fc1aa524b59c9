"""Real HTTP to the gateway: what is answered, what is refused and how, and what is in the log by then."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from schemas.config.monitor import MonitorConfig
from schemas.tables.log_file import log_files
from schemas.tasks import TASK_NAMES
from tasks.commerce.registry import TASKS
from tasks.monitor.logs import read_logs
from tasks.serve.served_model import CUT_OFF
from tests.chat_server import Reply, says
from tests.gateway import RIGHT, Gateway, running, says_right, wait_for

CPF = "529.982.247-25"


def test_a_task_is_asked_as_training_wrote_it_and_answered_parsed_and_checked(gateway: Gateway) -> None:
    answer = gateway.ask("Chegou  quebrado\ne sem nota.").json()
    assert (answer["parsed"], answer["text"]) == ({"polarity": "negative", "score": 1}, RIGHT)
    assert (answer["checked"], answer["reason"], answer["version"], answer["tokens"]) == (True, None, "shop/1", 9)
    asked = gateway.engine.requests[-1]
    assert asked["messages"][0]["content"] == TASKS["sentiment"].system
    assert asked["messages"][1]["content"].endswith("Avaliação: Chegou quebrado e sem nota.")
    assert (asked["model"], asked["temperature"], asked["max_tokens"], asked["seed"]) == ("champion", 0.1, 64, 7)


def test_json_tasks_are_guided_unless_the_request_says_otherwise(gateway: Gateway) -> None:
    assert gateway.ask().json()["guided"]
    assert gateway.engine.requests[-1]["structured_outputs"]["grammar"] == TASKS["sentiment"].grammar
    assert not gateway.ask(guided=False).json()["guided"]
    assert "structured_outputs" not in gateway.engine.requests[-1]


def test_every_task_has_its_path_with_its_inputs_on_the_openapi_page(gateway: Gateway) -> None:
    paths = gateway.http.get("/openapi.json").json()["paths"]
    assert {f"/v1/tasks/{task}" for task in TASK_NAMES} < set(paths)
    named = paths["/v1/tasks/push"]["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    assert named.endswith("/PushInputs")


def test_an_answer_is_in_the_log_as_monitoring_reads_it_without_personal_data(tmp_path: Path) -> None:
    with running(tmp_path, lambda message, number: says(f"meu CPF é {CPF}", "stop", (5, 9))) as gateway:
        answer = gateway.ask(f"Sou o {CPF}, chegou quebrado").json()
        (line,) = gateway.logged()
        assert line["request_id"] == answer["request_id"]
        assert CPF not in json.dumps(line)
        assert (line["valid"], line["shown"], line["role"], line["tokens"]) == (False, None, "champion", 9)
        files = log_files(tmp_path)
        logs = read_logs(files, files.digests(), MonitorConfig(), ("shop/1",), None, datetime.now(UTC))
    assert logs.table["completion"].to_list() == ["meu CPF é [CPF]"]


def test_an_answer_that_was_cut_off_is_not_shown(tmp_path: Path) -> None:
    with running(tmp_path, lambda message, number: says(RIGHT, "length", (5, 64))) as gateway:
        answer = gateway.ask().json()
    assert (answer["text"], answer["checked"], answer["reason"]) == (None, False, CUT_OFF)


def test_openai_clients_are_answered_in_their_form(gateway: Gateway) -> None:
    messages = [{"role": "system", "content": TASKS["sentiment"].system}, {"role": "user", "content": "Ruim"}]
    for model, sent in (("shop", messages), ("shop/sentiment", messages[1:]), ("champion", messages)):
        answer = gateway.http.post("/v1/chat/completions", json={"model": model, "messages": sent}).json()
        assert answer["choices"][0]["message"] == {"role": "assistant", "content": RIGHT, "refusal": None}
        assert (answer["checked"], answer["reason"]) == (True, None)
        assert answer["usage"] == {"prompt_tokens": 30, "completion_tokens": 9, "total_tokens": 39}
        assert gateway.engine.requests[-1]["messages"] == messages


def test_each_listed_model_answers_a_bare_question(gateway: Gateway) -> None:
    listed = [model["id"] for model in gateway.http.get("/v1/models").json()["data"]]
    assert {"shop/push", "champion/push"} <= set(listed)
    for model in listed:
        sent = {"model": model, "messages": [{"role": "user", "content": "Ruim"}]}
        assert gateway.http.post("/v1/chat/completions", json=sent).is_success, model


def test_an_answer_with_its_own_decoding_is_not_logged_as_the_evaluated_version(gateway: Gateway) -> None:
    sent = {"model": "shop/sentiment", "messages": [{"role": "user", "content": "Ruim"}], "temperature": 0}
    assert gateway.http.post("/v1/chat/completions", json=sent).is_success
    assert gateway.logged()[-1]["model_version"] == "shop/1+own-decoding"
    assert 0 < gateway.engine.requests[-1]["temperature"] < 0.001


def test_the_page_of_the_api_loads_nothing_from_another_server(tmp_path: Path) -> None:
    with running(tmp_path, says_right, tokens=(b"a token of the tests",)) as gateway:
        page = gateway.http.get("/docs")
        loaded = re.findall(r'(?:src|href)="([^"]+)"', page.text)
        assert len(loaded) == 3
        for address in loaded:
            assert address.startswith("swagger/")
            assert gateway.http.get(f"/{address}").is_success
        assert not re.search(r"""["'(]//|https?://""", page.text)


def test_a_seed_is_refused_where_the_engine_would_end_at_it(tmp_path: Path) -> None:
    sent = {"model": "shop/sentiment", "messages": [{"role": "user", "content": "Ruim"}]}
    with running(tmp_path, says_right, takes_seed=False) as gateway:
        assert gateway.http.post("/v1/chat/completions", json=sent).is_success
        assert "seed" not in gateway.engine.requests[0]
        refused = gateway.http.post("/v1/chat/completions", json=sent | {"seed": 1})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "no_seed")


def test_no_model_is_listed_for_a_task_that_is_not_answered(tmp_path: Path) -> None:
    def listed(gateway: Gateway) -> list[str]:
        return [model["id"] for model in gateway.http.get("/v1/models").json()["data"]]

    with running(tmp_path / "logs", says_right, refuse=["sql_qa", "push"]) as gateway:
        assert {"shop/sentiment", "champion/churn"} <= set(listed(gateway))
        assert not [name for name in listed(gateway) if name.endswith(("/sql_qa", "/push"))]
        # An adapter for each task, of a training of two tasks.
        for task in ("push", "sentiment"):
            (tmp_path / "policy" / "adapters" / task).mkdir(parents=True)
        deployed = gateway.answering.deployment
        deployed.model = replace(deployed.model, policy=tmp_path / "policy")
        assert listed(gateway) == ["shop/sentiment", "champion/sentiment"]


def test_a_refused_task_is_answered_422_with_the_reason(tmp_path: Path) -> None:
    with running(tmp_path, says_right, refuse=["sql_qa"]) as gateway:
        response = gateway.http.post("/v1/tasks/sql_qa", json={"question": "Quantos pedidos?"})
        assert gateway.ask().is_success
    assert (response.status_code, response.json()["error"]["code"]) == (422, "task_refused")


def test_a_refused_task_is_passed_on_to_the_larger_model_and_logged_by_its_name(tmp_path: Path) -> None:
    from tests.chat_server import serve

    with serve(lambda message, number: says("SELECT 1", "stop", (5, 3))) as other:
        larger = {"url": f"{other.url}/v1", "model": "large"}
        with running(tmp_path, says_right, refuse=["sql_qa"], larger=larger) as gateway:
            answer = gateway.http.post("/v1/tasks/sql_qa", json={"question": "Quantos pedidos?"}).json()
            (line,) = gateway.logged()
    assert (answer["version"], line["role"], line["model_version"]) == ("large", "larger", "large")
    assert other.requests[0]["model"] == "large"
    assert "structured_outputs" not in other.requests[0]


def test_a_full_queue_is_answered_429_and_the_others_wait(tmp_path: Path) -> None:
    slow = says(RIGHT, "stop", (5, 9))
    slow.seconds = 0.5
    with running(tmp_path, lambda message, number: slow, concurrency=1, queue=2) as gateway:
        with ThreadPoolExecutor(6) as threads:
            responses = list(threads.map(lambda _: gateway.ask(), range(6)))
        assert sorted(response.status_code for response in responses) == [200] * 3 + [429] * 3
        assert gateway.engine.most_at_once == 1
        refused = next(response for response in responses if response.status_code == 429)
        assert int(refused.headers["Retry-After"]) >= 1
        assert len(gateway.logged()) == 3


def test_a_request_beyond_its_deadline_is_answered_504(tmp_path: Path) -> None:
    slow = says(RIGHT)
    slow.seconds = 5
    with running(tmp_path, lambda message, number: slow, deadline_seconds=0.3) as gateway:
        assert gateway.ask().status_code == 504
        assert gateway.answering.requests_inside == 0


def test_a_request_whose_engine_failed_is_asked_again_and_answered_once(tmp_path: Path) -> None:
    def play(message: str, number: int) -> Reply:
        return Reply(b"", status=500) if number < 2 else says(RIGHT, "stop", (5, 9))

    with running(tmp_path, play) as gateway:
        assert gateway.ask().is_success
        assert len(gateway.logged()) == 1


def test_what_the_engine_refuses_is_the_clients_to_mend(tmp_path: Path) -> None:
    sentence = "the prompt has 900 tokens, and the model reads 512"
    refusal = Reply(json.dumps({"error": {"message": sentence}}).encode(), status=400)
    with running(tmp_path, lambda message, number: refusal) as gateway:
        response = gateway.ask()
    assert (response.status_code, response.json()["error"]["message"]) == (422, sentence)


def test_without_a_log_no_answer_is_given_unless_the_shop_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    for require, status in ((True, 503), (False, 200)):
        with running(tmp_path / str(require), says_right, require_log=require) as gateway:
            with monkeypatch.context() as patched:
                patched.setattr("tasks.serve.gateway.answer_log.os.write", full)
                assert gateway.ask().status_code == status
            assert "tucano_unlogged_answers_total 1.0" in gateway.http.get("/metrics").text
            assert gateway.ask().is_success
            assert len(gateway.logged()) == 1


def test_feedback_is_kept_by_the_request_that_it_is_about(gateway: Gateway) -> None:
    request_id = gateway.ask().json()["request_id"]
    known = {"request_id": request_id, "reference": {"polarity": "negative", "score": 1}, "rating": 4}
    assert gateway.http.post("/v1/feedback", json=known).status_code == 204
    (file,) = (gateway.logs / "feedback").glob("*.jsonl")
    line = json.loads(file.read_text().splitlines()[-1])
    assert (line["request_id"], line["rating"]) == (request_id, 4)
    for wrong in (
        known | {"rating": 6},
        known | {"rating": True},
        known | {"reference": {"polarity": 3}},
        {"request_id": request_id},
        known | {"request_id": "sentiment-1"},
    ):
        assert gateway.http.post("/v1/feedback", json=wrong).status_code == 422


def test_metrics_count_answers_by_task_and_version(gateway: Gateway) -> None:
    before = len(gateway.logged())
    gateway.ask()
    text = gateway.http.get("/metrics").text
    assert 'tucano_answers_total{role="champion",task="sentiment",version="shop/1"}' in text
    assert len(gateway.logged()) == before + 1
    assert 'tucano_refused_requests_total{code="invalid_request"}' in text


def test_a_challenger_answers_its_share_and_the_same_keys_always(tmp_path: Path) -> None:
    def versions(share: float) -> dict[str, str]:
        with running(tmp_path / str(share), says_right, challenger={"version": "2", "share": share}) as gateway:
            first, again = (
                {key: gateway.ask(headers={"X-Request-Key": key}).json()["version"] for key in map(str, range(60))}
                for _ in range(2)
            )
            roles = {line["model_version"]: line["role"] for line in gateway.logged()}
        assert first == again
        assert roles == {"shop/1": "champion", "shop/2": "challenger"}
        return first

    small, large = versions(0.3), versions(0.6)
    assert 8 <= list(small.values()).count("shop/2") <= 28
    # A larger share keeps the keys that the challenger had.
    assert {key for key in small if small[key] == "shop/2"} < {key for key in large if large[key] == "shop/2"}


def test_a_shadow_answers_every_request_for_the_log_alone(tmp_path: Path) -> None:
    with running(tmp_path, says_right, challenger={"version": "2", "shadow": True}) as gateway:
        asked = [gateway.ask().json() for _ in range(5)]
        wait_for(lambda: len(gateway.logged()) == 10)
        shadows = [line for line in gateway.logged() if line["role"] == "shadow"]
    assert {answer["version"] for answer in asked} == {"shop/1"}
    assert {line["model_version"] for line in shadows} == {"shop/2"}
    assert {line["shadow_of"] for line in shadows} == {answer["request_id"] for answer in asked}


def test_the_page_shows_the_last_day_in_both_languages_and_no_text_of_anybody(tmp_path: Path) -> None:
    with running(tmp_path, says_right, form_share=1.0) as gateway:
        assert "Nothing was answered" in gateway.http.get("/").text
        for _ in range(3):
            gateway.ask("Palavras de uma cliente")
        old = gateway.logged()[0] | {"time": "2020-01-01T00:00:00Z", "task": "push"}
        (file,) = tmp_path.glob("*.jsonl")
        with file.open("a") as log:
            log.write(json.dumps(old) + "\n")
        page, portuguese = gateway.http.get("/").text, gateway.http.get("/", params={"language": "pt"}).text
    assert "sentiment</th><td>3</td><td>100 %</td>" in page
    assert "shop/1</th>" in page
    assert "push" not in page
    assert "respostas" in portuguese
    assert 'lang="pt-BR"' in portuguese
    assert "Palavras" not in page
