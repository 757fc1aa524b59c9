"""Requests that are refused: what is asked, how long it is, who asks, and how it arrives."""

import os
import socket
from contextlib import suppress
from pathlib import Path

import pytest

from tasks.serve.gateway.limits import read_tokens
from tests.gateway import Gateway, running, says_right

CPF = "529.982.247-25"


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/v1/tasks/sentiment", {}, 422, "invalid_request"),
        ("/v1/tasks/sentiment", {"review": ""}, 422, "invalid_request"),
        ("/v1/tasks/sentiment", {"review": "x" * 5_001}, 422, "invalid_request"),
        ("/v1/tasks/sentiment", {"review": "bom", "other": 1}, 422, "invalid_request"),
        ("/v1/tasks/weather", {"review": "bom"}, 404, "no_such_request"),
        (
            "/v1/chat/completions",
            {"model": "gpt", "messages": [{"role": "user", "content": "a"}]},
            404,
            "unknown_model",
        ),
        (
            "/v1/chat/completions",
            {"model": "shop", "messages": [{"role": "user", "content": "a"}]},
            404,
            "unknown_model",
        ),
        ("/v1/chat/completions", {"model": "shop/push", "messages": []}, 400, "invalid_request"),
        (
            "/v1/chat/completions",
            {"model": "shop/push", "messages": [{"role": "user", "content": "a"}], "top_p": 0.5},
            400,
            "invalid_request",
        ),
    ],
)
def test_what_cannot_be_answered_is_refused_in_one_form(
    gateway: Gateway, path: str, body: object, status: int, code: str
) -> None:
    response = gateway.http.post(path, json=body)
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)


def test_a_task_that_raises_is_answered_in_openais_form_and_the_connection_lives(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = {"product": "panelas", "offer": "frete grátis", "segment": "todos"}
    with monkeypatch.context() as patch:
        patch.setattr("tasks.commerce.push.task.serve", lambda *_: float("10.20.30"))
        response = gateway.http.post("/v1/tasks/push", json=ask)
    assert (response.status_code, response.json()["error"]["type"]) == (500, "server_error")
    assert "10.20" not in response.text and response.headers.get("connection") != "close"
    assert gateway.http.post("/v1/tasks/push", json=ask).status_code == 200


def test_a_refusal_does_not_repeat_what_a_shopper_wrote(gateway: Gateway) -> None:
    response = gateway.http.post("/v1/tasks/push", json={"product": CPF, "offer": {"a": CPF}, CPF: 1})
    assert response.status_code == 422
    assert CPF not in response.text


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"null",
        b"[" * 20_000,
        b'{"review": ' * 5_000,
        b'{"review": "\\ud800"}',
        b'{"review": 1e999}',
        b'{"review": ' + b"9" * 10_000 + b"}",
        b'{"review": NaN}',
    ],
    ids=["none", "open", "no UTF-8", "null", "deep list", "deep object", "lone surrogate", "infinite", "long", "NaN"],
)
def test_hostile_json_is_a_clients_mistake(gateway: Gateway, body: bytes) -> None:
    response = gateway.http.post("/v1/tasks/sentiment", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code in {400, 422}
    assert response.json()["error"]["message"]


def test_a_body_beyond_the_limit_is_refused_also_where_its_length_is_not_told(gateway: Gateway) -> None:
    large = b'{"review": "' + b"a" * 70_000 + b'"}'
    assert gateway.http.post("/v1/tasks/sentiment", content=large).status_code == 413
    assert gateway.http.post("/v1/tasks/sentiment", content=iter([large])).status_code == 413


def test_a_client_that_does_not_send_is_refused_in_time(tmp_path: Path) -> None:
    with (
        running(tmp_path, says_right, seconds_to_send=0.2) as gateway,
        socket.create_connection(("127.0.0.1", gateway.port)) as client,
    ):
        client.sendall(b"POST /v1/tasks/sentiment HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{")
        assert b" 408 " in client.recv(1000).split(b"\r\n")[0]


def test_without_a_token_only_health_and_the_page_are_shown(tmp_path: Path) -> None:
    with running(tmp_path, says_right, tokens=(b"first-token-of-two", b"another-token-here")) as gateway:
        assert gateway.ask().status_code == 401
        assert gateway.http.get("/metrics").status_code == 401
        assert gateway.http.get("/healthz").status_code == 200
        for token in ("wrong-token-of-all", "x", "first-token-of-two x", "first-token-of-tw"):
            gateway.http.headers["Authorization"] = f"Bearer {token}"
            assert gateway.ask().status_code == 401
        for token in ("first-token-of-two", "another-token-here"):
            gateway.http.headers["Authorization"] = f"Bearer {token}"
            assert gateway.ask().status_code == 200


def test_pages_of_other_sites_are_refused(gateway: Gateway) -> None:
    for headers in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"Origin": "null"}):
        response = gateway.ask(headers=headers)
        assert (response.status_code, response.json()["error"]["code"]) == (403, "foreign_sender")
        assert gateway.http.get("/healthz", headers=headers).status_code == 403
    assert gateway.ask(headers={"Origin": str(gateway.http.base_url)}).status_code == 200


@pytest.mark.parametrize(
    "more",
    [
        rb'"reference": {"polarity": "negative", "score": ' + b"9" * 30 + b"}",
        rb'"reference": {"\ud800": 1}',
        rb'"reference": {"polarity": "\ud800"}',
        rb'"reference": ' + b'{"a":' * 260 + b"1" + b"}" * 260,
        rb'"rating": 5, "stars": 5',
    ],
    ids=["large", "surrogate key", "surrogate", "deep", "unknown field"],
)
def test_feedback_that_cannot_be_kept_as_it_is_is_a_clients_mistake(gateway: Gateway, more: bytes) -> None:
    identity = gateway.ask().json()["request_id"].encode()
    content = b'{"request_id": "' + identity + b'", ' + more + b"}"
    response = gateway.http.post("/v1/feedback", content=content, headers={"Content-Type": "application/json"})
    assert (response.status_code, response.json()["error"]["code"]) == (422, "invalid_request")


def test_a_request_with_two_lengths_is_refused_and_its_rest_is_no_request(gateway: Gateway) -> None:
    smuggled = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    head = b"POST /v1/feedback HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", gateway.port), 20) as client:
        client.sendall(head)
        received = client.recv(4096)
        with suppress(ConnectionError):
            client.sendall(b"0\r\n\r\n" + smuggled)
            while piece := client.recv(4096):
                received += piece
    assert received.count(b"HTTP/1.1 ") == 1
    assert b"two_lengths" in received


def test_a_token_may_have_any_letters_and_a_wrong_one_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environb, b"TOKENS", "maçã-de-manhã-às-nove".encode() + b", \xff-no-text-at-all-here")
    with running(tmp_path, says_right, tokens=read_tokens("TOKENS")) as gateway:
        for token in ("maçã-de-manhã-às-nove".encode(), b"\xff-no-text-at-all-here"):
            assert gateway.http.get("/v1/models", headers={b"Authorization": b"Bearer " + token}).status_code == 200
        known = {b"Authorization": "Bearer maçã-de-manhã-às-nove".encode()}
        assert gateway.http.get("/v1/models", headers={"Authorization": "Bearer maca"}).status_code == 401
        assert 'tucano_refused_requests_total{code="no_token"} 1.0' in gateway.http.get("/metrics", headers=known).text
