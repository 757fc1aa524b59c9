"""The gateway asked by openai-python: completions, streams, parsed answers, models, errors and retries."""

from collections.abc import Iterator
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from tests.gateway import RIGHT, Gateway, running, says_right

openai = pytest.importorskip("openai")
pytestmark = pytest.mark.clients

TOKEN = "a-token-of-these-tests"
MODEL = "champion/sentiment"
ASKED = [{"role": "user", "content": "Avaliação: Chegou quebrado"}]


class Sentiment(BaseModel):
    polarity: Literal["positive", "neutral", "negative"]
    score: int


class Other(BaseModel):
    polarity: str
    reason: str


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with running(tmp_path_factory.mktemp("logs"), says_right, tokens=(TOKEN.encode(),)) as gateway:
        yield gateway


def _client(gateway: Gateway, **settings: Any) -> Any:
    return openai.OpenAI(**_settings(gateway) | settings)


def _settings(gateway: Gateway) -> dict[str, Any]:
    return {"base_url": f"http://127.0.0.1:{gateway.port}/v1", "api_key": TOKEN, "max_retries": 0, "timeout": 30}


def test_the_accumulated_stream_has_the_identity_that_feedback_takes(gateway: Gateway) -> None:
    client = _client(gateway)
    options = {"include_usage": True}
    with client.chat.completions.stream(model=MODEL, messages=ASKED, stream_options=options) as stream:
        deltas = [event.delta for event in stream if event.type == "content.delta"]
        made = stream.get_final_completion()
    assert "".join(deltas) == made.choices[0].message.content == RIGHT
    assert made.usage.completion_tokens == 9
    assert made.id == gateway.logged()[-1]["request_id"]
    assert client.post("/feedback", body={"request_id": made.id, "rating": 5}, cast_to=type(None)) is None
    ids = {event.id for event in client.chat.completions.create(model=MODEL, messages=ASKED, stream=True)}
    assert ids == {gateway.logged()[-1]["request_id"]}


def test_an_answer_is_parsed_into_the_callers_class_whole_and_streamed(gateway: Gateway) -> None:
    completions = _client(gateway).chat.completions
    wanted = Sentiment(polarity="negative", score=1)
    made = completions.parse(model=MODEL, messages=ASKED, response_format=Sentiment)
    assert made.choices[0].message.parsed == wanted
    with completions.stream(model=MODEL, messages=ASKED, response_format=Sentiment) as stream:
        assert stream.get_final_completion().choices[0].message.parsed == wanted
    assert gateway.engine.requests[-1]["structured_outputs"]


def test_a_wrong_token_and_a_wrong_model_have_their_classes(gateway: Gateway) -> None:
    with pytest.raises(openai.AuthenticationError):
        _client(gateway, api_key="another-token-than-ours").models.list()
    with pytest.raises(openai.NotFoundError) as refused:
        _client(gateway).chat.completions.create(model="gpt-4o", messages=ASKED)
    assert (refused.value.code, refused.value.param) == ("unknown_model", "model")


def test_a_completion_with_every_neutral_field_is_answered(gateway: Gateway) -> None:
    made = _client(gateway).chat.completions.create(
        model=MODEL, messages=ASKED, top_p=1, n=1, frequency_penalty=0, presence_penalty=0, stop=None, logit_bias={},
        logprobs=False, tools=[], tool_choice="none", parallel_tool_calls=True, store=False, metadata={"team": "web"},
        user="a", seed=7, service_tier="auto", max_tokens=50, max_completion_tokens=50, reasoning_effort="none",
        response_format={"type": "json_object"}, modalities=["text"], verbosity="medium",
    )  # fmt: skip
    assert made.choices[0].message.content == RIGHT
    assert made.id == made._request_id == gateway.logged()[-1]["request_id"]
    assert made.usage.total_tokens == 39


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n", 2),
        ("top_p", 0.5),
        ("logprobs", True),
        ("tools", [{"type": "function", "function": {"name": "f", "parameters": {}}}]),
        ("audio", {"voice": "alloy", "format": "mp3"}),
        ("response_format", {"type": "json_schema", "json_schema": {"name": "o", "schema": Other.model_json_schema()}}),
        ("messages", [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}]),
    ],
)
def test_unsupported_fields_are_a_bad_request_that_names_them(gateway: Gateway, field: str, value: Any) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        _client(gateway).chat.completions.create(**{"model": MODEL, "messages": ASKED, field: value})
    assert refused.value.param == field
    assert field in refused.value.message
