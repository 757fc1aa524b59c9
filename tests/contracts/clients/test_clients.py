"""The gateway asked by openai-python, and by LangChain and LiteLLM, which send more than a caller writes."""

import importlib
import os
from collections.abc import Iterator
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from tests.gateway import RIGHT, Gateway, running, says_right

# LiteLLM asks the web for prices where nothing says otherwise.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
openai = pytest.importorskip("openai")
# Where one client is, all are: a skip hid that one could not be imported.
langchain_openai = importlib.import_module("langchain_openai")
litellm = importlib.import_module("litellm")
pytestmark = pytest.mark.clients

TOKEN = "a-token-of-these-tests"
MODEL = "champion/sentiment"
TEXT = "Avaliação: Chegou quebrado"
ASKED = [{"role": "user", "content": TEXT}]


class Sentiment(BaseModel):
    """Sentiment of a review."""

    polarity: Literal["positive", "neutral", "negative"]
    score: int


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with running(tmp_path_factory.mktemp("logs"), says_right, tokens=(TOKEN.encode(),)) as gateway:
        yield gateway


def _place(gateway: Gateway) -> str:
    return f"http://127.0.0.1:{gateway.port}/v1"


def _client(gateway: Gateway, key: str = TOKEN) -> Any:
    return openai.OpenAI(base_url=_place(gateway), api_key=key, max_retries=0, timeout=30)


def _chat(gateway: Gateway, **settings: Any) -> Any:
    place = {"base_url": _place(gateway), "api_key": TOKEN, "max_retries": 0}
    return langchain_openai.ChatOpenAI(model=MODEL, **place, **settings)


def _litellm(gateway: Gateway, **fields: Any) -> Any:
    place = {"api_base": _place(gateway), "api_key": TOKEN, "max_retries": 0}
    return litellm.completion(model=f"openai/{MODEL}", messages=ASKED, **place, **fields)


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


def test_a_wrong_token_a_wrong_model_and_an_unsupported_field_have_their_classes(gateway: Gateway) -> None:
    with pytest.raises(openai.AuthenticationError):
        _client(gateway, "another-token-than-ours").models.list()
    completions = _client(gateway).chat.completions
    with pytest.raises(openai.NotFoundError) as refused:
        completions.create(model="gpt-4o", messages=ASKED)
    assert (refused.value.code, refused.value.param) == ("unknown_model", "model")
    with pytest.raises(openai.BadRequestError) as refused:
        completions.create(model=MODEL, messages=ASKED, n=2)
    assert refused.value.param == "n"
    assert "n" in refused.value.message


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


def test_langchain_invokes_streams_and_goes_on_in_a_conversation(gateway: Gateway) -> None:
    chat = _chat(gateway, top_p=1, n=1, frequency_penalty=0, presence_penalty=0, temperature=0, stream_usage=True)
    answer = chat.invoke(TEXT)
    assert answer.content == RIGHT
    assert answer.response_metadata["id"] == gateway.logged()[-1]["request_id"]
    assert chat.invoke([("system", "Classifique"), ("human", TEXT), answer, ("human", TEXT)]).content == RIGHT
    assert "".join(part.content for part in chat.stream(TEXT)) == RIGHT
    assert [each.content for each in chat.batch([TEXT] * 3)] == [RIGHT] * 3


@pytest.mark.parametrize("settings", ({}, {"strict": True}, {"method": "json_schema"}, {"method": "json_mode"}))
@pytest.mark.parametrize("schema", (Sentiment, Sentiment.model_json_schema()))
def test_langchain_has_structured_answers(gateway: Gateway, settings: Any, schema: Any) -> None:
    answer = _chat(gateway).with_structured_output(schema, **settings).invoke(TEXT)
    found = answer.model_dump() if isinstance(answer, BaseModel) else answer
    assert found == {"polarity": "negative", "score": 1}
    assert gateway.engine.requests[-1]["structured_outputs"]


def test_litellm_completes_streams_and_asks_for_a_form(gateway: Gateway) -> None:
    assert _litellm(gateway, top_p=1, n=1, temperature=0, stop=[]).choices[0].message.content == RIGHT
    for form in (Sentiment, {"type": "json_object"}):
        content = _litellm(gateway, response_format=form).choices[0].message.content
        assert Sentiment.model_validate_json(content).score == 1
    parts = list(_litellm(gateway, stream=True, stream_options={"include_usage": True}))
    whole = litellm.stream_chunk_builder(parts, messages=ASKED)
    assert whole.choices[0].message.content == RIGHT
    assert whole.id == gateway.logged()[-1]["request_id"]
