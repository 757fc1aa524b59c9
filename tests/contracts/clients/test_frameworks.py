"""The gateway asked by LangChain and by LiteLLM, which send more than a caller writes."""

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

MODEL = "champion/sentiment"
TEXT = "Avaliação: Chegou quebrado"
ASKED = [{"role": "user", "content": TEXT}]


class Sentiment(BaseModel):
    """Sentiment of a review."""

    polarity: Literal["positive", "neutral", "negative"]
    score: int


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with running(tmp_path_factory.mktemp("logs"), says_right) as gateway:
        yield gateway


def _chat(gateway: Gateway, **settings: Any) -> Any:
    base = f"http://127.0.0.1:{gateway.port}/v1"
    return langchain_openai.ChatOpenAI(base_url=base, api_key="none", model=MODEL, max_retries=0, **settings)


def _litellm(gateway: Gateway, **fields: Any) -> Any:
    base = f"http://127.0.0.1:{gateway.port}/v1"
    asked = {"model": f"openai/{MODEL}", "messages": ASKED, "api_base": base, "api_key": "none", "max_retries": 0}
    return litellm.completion(**asked | fields)


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
