"""The gateway asked by openai-python: completions, streams, parsed answers, models, errors and retries."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from tests.chat_server import Reply, says
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


def test_parts_and_a_conversation_that_goes_on_from_an_answer(gateway: Gateway) -> None:
    completions = _client(gateway).chat.completions
    first = [{"role": "user", "content": [{"type": "text", "text": "Avaliação: Chegou quebrado"}]}]
    answer = completions.create(model=MODEL, messages=first).choices[0].message
    messages = [{"role": "developer", "content": "Classifique"}, *first, answer, *ASKED]
    assert completions.create(model=MODEL, messages=messages).choices[0].message.content == RIGHT
    # As programs that keep conversations in JSON send them.
    messages = [*first, answer.model_dump(), *ASKED]
    assert completions.create(model=MODEL, messages=messages).choices[0].message.content == RIGHT
    assert [turn["role"] for turn in gateway.engine.requests[-1]["messages"]] == ["system", "user", "assistant", "user"]


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


def test_the_models_are_listed_and_retrieved(gateway: Gateway) -> None:
    models = _client(gateway).models
    listed = [model.id for model in models.list()]
    assert MODEL in listed
    assert [models.retrieve(name).id for name in listed] == listed
    with pytest.raises(openai.NotFoundError):
        models.retrieve("gpt-4o")


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


def test_a_wrong_token_and_a_wrong_model_have_their_classes(gateway: Gateway) -> None:
    with pytest.raises(openai.AuthenticationError):
        _client(gateway, api_key="another-token-than-ours").models.list()
    with pytest.raises(openai.NotFoundError) as refused:
        _client(gateway).chat.completions.create(model="gpt-4o", messages=ASKED)
    assert (refused.value.code, refused.value.param) == ("unknown_model", "model")


def test_many_asynchronous_requests_are_answered(gateway: Gateway) -> None:
    async def ask() -> list[Any]:
        async with openai.AsyncOpenAI(**_settings(gateway)) as client:
            completions = client.chat.completions
            whole = [completions.create(model=MODEL, messages=ASKED, user=str(number)) for number in range(20)]
            answers = [made.choices[0].message.content for made in await asyncio.gather(*whole)]
            async with completions.stream(model=MODEL, messages=ASKED, response_format=Sentiment) as stream:
                answers.append((await stream.get_final_completion()).choices[0].message.content)
            return answers

    assert asyncio.run(ask()) == [RIGHT] * 21


def test_a_full_queue_is_asked_again_and_a_slow_answer_is_a_timeout(tmp_path: Path) -> None:
    def play(message: str, number: int) -> Reply:
        reply = says(RIGHT, "stop", (30, 9))
        reply.seconds = 0.5
        return reply

    with running(tmp_path, play, concurrency=1, queue=0, deadline_seconds=20) as gateway:

        async def ask(retries: int) -> list[Any]:
            async with openai.AsyncOpenAI(**_settings(gateway) | {"max_retries": retries}) as client:
                made = [client.chat.completions.create(model=MODEL, messages=ASKED) for _ in range(2)]
                return await asyncio.gather(*made, return_exceptions=True)

        assert [type(each) for each in asyncio.run(ask(0))].count(openai.RateLimitError) == 1
        assert all(made.choices[0].message.content == RIGHT for made in asyncio.run(ask(4)))
        with pytest.raises(openai.APITimeoutError):
            _client(gateway, timeout=0.1).chat.completions.create(model=MODEL, messages=ASKED)


def test_an_answer_that_was_cut_off_is_no_parsed_one(tmp_path: Path) -> None:
    cut = says(RIGHT[:9], "length", (30, 9))
    with running(tmp_path, lambda message, number: cut) as gateway, pytest.raises(openai.LengthFinishReasonError):
        _client(gateway).chat.completions.parse(model=MODEL, messages=ASKED, response_format=Sentiment)
