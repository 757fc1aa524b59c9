"""Requests that are refused: by their content, their length, their sender, or their way of arriving."""

import os
import socket
from contextlib import suppress
from pathlib import Path

import pytest

from tasks.serve.gateway.limits import read_tokens
from tests.gateway import Gateway, running, says_right

CPF = "529.982.247-25"
CHAT = "/v1/chat/completions"
SENTIMENT = "/v1/tasks/sentiment"
ASKED = [{"role": "user", "content": "a"}]
REFUSED: list[tuple[str, object, int, str]] = [
    (SENTIMENT, {"review": "x" * 5_001}, 422, "invalid_request"),
    (SENTIMENT, {"review": "bom", "other": 1}, 422, "invalid_request"),
    ("/v1/tasks/weather", {"review": "bom"}, 404, "no_such_request"),
    (CHAT, {"model": "gpt", "messages": ASKED}, 404, "unknown_model"),
    (CHAT, {"model": "shop", "messages": ASKED}, 404, "unknown_model"),
    (CHAT, {"model": "shop/push", "messages": []}, 400, "invalid_request"),
    ("/v1/tasks/push", {"product": CPF, "offer": {"a": CPF}, CPF: 1}, 422, "invalid_request"),
]
HOSTILE = {
    "none": b"",
    "no UTF-8": b"\xff\xfe",
    "deep object": b'{"review": ' * 5_000,
    "lone surrogate": b'{"review": "\\ud800"}',
    "long": b'{"review": ' + b"9" * 10_000 + b"}",
    "NaN": b'{"review": NaN}',
}


def test_requests_that_cannot_be_answered_are_refused_in_one_form_without_their_own_words(gateway: Gateway) -> None:
    for path, body, status, code in REFUSED:
        response = gateway.http.post(path, json=body)
        assert (response.status_code, response.json()["error"]["code"]) == (status, code), (path, body)
        assert CPF not in response.text


def test_hostile_json_is_a_clients_mistake(gateway: Gateway) -> None:
    for name, body in HOSTILE.items():
        response = gateway.http.post(SENTIMENT, content=body, headers={"Content-Type": "application/json"})
        assert response.status_code in {400, 422}, name
        assert response.json()["error"]["message"], name


def test_a_task_that_raises_is_answered_in_openais_form_and_the_connection_lives(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = {"product": "panelas", "offer": "frete grátis", "segment": "todos"}
    with monkeypatch.context() as patch:
        patch.setattr("tasks.commerce.push.scorer.serve", lambda *_: float("10.20.30"))
        response = gateway.http.post("/v1/tasks/push", json=ask)
    assert (response.status_code, response.json()["error"]["type"]) == (500, "server_error")
    assert "10.20" not in response.text and response.headers.get("connection") != "close"
    assert gateway.http.post("/v1/tasks/push", json=ask).status_code == 200


def test_a_body_beyond_the_limit_is_refused_also_where_its_length_is_not_told(gateway: Gateway) -> None:
    large = b'{"review": "' + b"a" * 70_000 + b'"}'
    assert gateway.http.post(SENTIMENT, content=large).status_code == 413
    assert gateway.http.post(SENTIMENT, content=iter([large])).status_code == 413


def test_a_client_that_does_not_send_is_refused_in_time(tmp_path: Path) -> None:
    with (
        running(tmp_path, says_right, seconds_to_send=0.2) as gateway,
        socket.create_connection(("127.0.0.1", gateway.port)) as client,
    ):
        client.sendall(b"POST /v1/tasks/sentiment HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{")
        assert b" 408 " in client.recv(1000).split(b"\r\n")[0]


def test_without_a_token_only_health_and_the_page_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = ("maçã-de-manhã-às-nove".encode(), b"\xff-no-text-at-all-here", b"first-token-of-three")
    monkeypatch.setitem(os.environb, b"TOKENS", b", ".join(known))
    wrong = (b"wrong-token-of-all", b"x", b"maca", b"first-token-of-three x", b"first-token-of-thre")

    with running(tmp_path, says_right, tokens=read_tokens("TOKENS")) as gateway:

        def status(path: str, kind: bytes, token: bytes) -> int:
            return gateway.http.get(path, headers={b"Authorization": kind + b" " + token}).status_code

        assert gateway.ask().status_code == gateway.http.get("/metrics").status_code == 401
        assert gateway.http.get("/healthz").status_code == 200
        assert {status("/v1/models", b"Bearer", token) for token in wrong} == {401}
        assert status("/v1/models", b"Basic", known[2]) == 401
        assert {status("/v1/models", b"Bearer", token) for token in known} == {200}
        gateway.http.headers["Authorization"] = "Bearer first-token-of-three"
        assert 'tucano_refused_requests_total{code="no_token"} 8.0' in gateway.http.get("/metrics").text


def test_pages_of_other_sites_are_refused(gateway: Gateway) -> None:
    for headers in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"Origin": "null"}):
        response = gateway.ask(headers=headers)
        assert (response.status_code, response.json()["error"]["code"]) == (403, "foreign_sender")
        assert gateway.http.get("/healthz", headers=headers).status_code == 403
    assert gateway.ask(headers={"Origin": str(gateway.http.base_url)}).status_code == 200


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
