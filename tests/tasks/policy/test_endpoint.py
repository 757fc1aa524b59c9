"""The endpoint is hostile or down in every way that the network knows; the key is given to nobody but it."""

import asyncio
import logging
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from schemas.config.section import EndpointSection
from tasks.policy import endpoint as endpoint_module
from tasks.policy.endpoint import Endpoint, EndpointError, EndpointQuestion, Reply
from tests import chat_server
from tests.chat_server import in_turn, says, serve

KEY = "sk-very-secret-4711"
GOOD = says("Redija a notificação.")


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_module, "FIRST_WAIT_SECONDS", 0.001)


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """How long it would have waited before each further attempt."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(endpoint_module, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": sleep}))
    return waits  # type: ignore[return-value]


def config(url: str, **values: object) -> EndpointSection:
    return EndpointSection.model_validate({"url": url, "model": "tucano", "max_attempts": 3, **values})


def open_endpoint(configured: EndpointSection) -> Endpoint:
    return Endpoint(
        configured, purpose="test's", section="shop.endpoint", otherwise="do without", temperature=0.5, max_tokens=33
    )


def ask(url: str, **values: object) -> str:
    return answered(open_endpoint(config(url, **values)))


def answered(endpoint: Endpoint) -> str:
    replies: dict[str, Reply] = {}
    question = EndpointQuestion("one", "Reescreva.", "Crie a notificação.", seed=7)
    if failure := endpoint.ask_all([question], replies.__setitem__):
        raise EndpointError(failure)
    return replies["one"].text


def test_a_good_answer_is_returned_and_the_question_is_of_openais_form() -> None:
    with serve(in_turn([GOOD])) as server:
        assert ask(server.url) == "Redija a notificação."
    (request,) = server.requests
    assert request["model"] == "tucano"
    assert (request["seed"], request["temperature"], request["max_tokens"]) == (7, 0.5, 33)
    assert request["messages"] == [
        {"role": "system", "content": "Reescreva."},
        {"role": "user", "content": "Crie a notificação."},
    ]
    assert "Authorization" not in server.headers[0]


def test_a_busy_endpoint_is_asked_again_when_it_wants(slept: list[float]) -> None:
    with serve(in_turn([chat_server.Reply(b"", 429, {"Retry-After": "17"}), GOOD])) as server:
        assert ask(server.url) == "Redija a notificação."
    assert slept == [17.0]


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (chat_server.Reply(b"", 500), "answered 500"),
        (chat_server.Reply(b"[" * 150_000), "no chat completion"),
        (chat_server.Reply(b'{"choices": [{"message": {"content": null}}]}'), "no chat completion"),
        (chat_server.Reply(b'{"choices": [{"message": {"content": "\\ud800"}}]}'), "no chat completion"),
        (says("Sim.", "stop", (-1, 2)), "no chat completion"),
        (chat_server.Reply(b'{"choices": "' + b"x" * 300_000 + b'"}'), "more than 200,000 bytes"),
        (chat_server.Reply(GOOD.body, seconds=5), "did not answer within 0.2 s"),
    ],
    ids=["broken", "nested", "no content", "surrogate", "negative count", "huge", "slow"],
)
def test_a_lasting_fault_is_one_sentence_after_a_few_attempts(reply: chat_server.Reply, said: str) -> None:
    with serve(in_turn([reply])) as server, pytest.raises(EndpointError) as caught:
        ask(server.url, timeout_seconds=0.2)
    message = str(caught.value)
    assert message.startswith(f"the test's endpoint {server.url} ")
    assert said in message
    assert "in each of 3 attempts; see that it serves the model there, or do without" in message
    assert "\n" not in message
    assert len(message) < 400
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("status", "remedy"),
    [
        (401, "shop.endpoint.key_variable"),
        (403, "may use the model"),
        (404, "shop.endpoint.url, which usually ends in /v1"),
        (400, "serves the model"),
        (302, "serves the model"),
    ],
)
def test_a_refusal_is_not_tried_again(status: int, remedy: str) -> None:
    elsewhere = {"Location": "http://127.0.0.1:9/steal"}
    with (
        serve(in_turn([chat_server.Reply(b"Invalid key: sk-very", status, elsewhere)])) as server,
        pytest.raises(EndpointError) as caught,
    ):
        ask(server.url)
    assert f"answered {status}" in str(caught.value)
    assert remedy in str(caught.value)
    assert "sk-very" not in str(caught.value)
    assert len(server.requests) == 1


def test_the_key_goes_to_the_endpoint_alone(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("SHOP_KEY", f" {KEY}\n")
    caplog.set_level(logging.DEBUG)
    refusal = chat_server.Reply(f"bad key {KEY}".encode(), 401)
    settings = {"key_variable": "SHOP_KEY"}
    with serve(in_turn([refusal])) as server:
        configured = config(server.url, **settings)
        endpoint = open_endpoint(configured)
        with pytest.raises(EndpointError) as caught:
            answered(endpoint)
        reported = [str(caught.value), repr(caught.value), repr(endpoint), repr(vars(endpoint)), repr(configured)]
        reported += [configured.model_dump_json(), repr(caught.value.__cause__), repr(caught.value.__context__)]
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert [text for text in [*reported, caplog.text] if "very-secret" in text] == []
