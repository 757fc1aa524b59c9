"""Requests of strangers: whatever is sent is a request or is refused by one sentence."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.policy.generate import Completion, StopReason
from tasks.serve.local_engine.chat import ChatRequest, answer_form, read_chat
from tasks.serve.local_engine.refusal import RefusedRequest, as_openai_error

GOOD: dict[str, Any] = {"model": "champion", "messages": [{"role": "user", "content": "oi"}], "temperature": 0.7}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def test_what_vllm_takes_is_read() -> None:
    chat = read_chat(
        json.dumps(GOOD | {"max_tokens": 7, "seed": 3, "structured_outputs": {"grammar": "start: A"}}).encode()
    )
    assert (chat.max_tokens, chat.seed) == (7, 3)
    assert chat.structured_outputs is not None
    assert read_chat(json.dumps(GOOD | {"temperature": 1}).encode()).temperature == 1.0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"temperature": None}, "temperature: "),
        ({"temperature": 0}, "temperature: Input should be greater than or equal to 0.000001 (it is 0)"),
        ({"temperature": float("nan")}, "temperature: Input should be a finite number"),
        ({"temperature": "0.7"}, "temperature: Input should be a valid number"),
        ({"max_tokens": 0}, "max_tokens: "),
        ({"seed": -1}, "seed: "),
        ({"seed": 2**63}, "seed: "),
        ({"messages": []}, "messages: "),
        ({"messages": [{"role": "tool", "content": "oi"}]}, "messages.0.role: "),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "oi"}]}]}, "messages.0.content: "),
        ({"structured_outputs": {"regex": "a"}}, "structured_outputs.grammar is missing"),
        ({"structured_outputs": {"grammar": ""}}, "structured_outputs.grammar: "),
        ({"top_p": 0.9}, "top_p is nothing that this engine knows; leave it out"),
    ],
)
def test_a_bad_value_is_refused_with_its_field(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(RefusedRequest) as refused:
        read_chat(json.dumps(GOOD | changes).encode())
    assert said in str(refused.value)
    assert refused.value.status == 400


@pytest.mark.parametrize(
    "body", [b"", b"{", b"null", b"\xff\xfe", b"[" * 100_000, b'{"model":"\\ud800"}', b'{"seed":' + b"9" * 9_999 + b"}"]
)
def test_what_is_no_json_is_refused(body: bytes) -> None:
    with pytest.raises(RefusedRequest) as refused:
        read_chat(body)
    _is_one_sentence(refused.value)


@given(st.sampled_from([*ChatRequest.model_fields, "other"]), JSON)
def test_any_value_anywhere_is_read_or_refused(field: str, value: Any) -> None:
    with suppress(RefusedRequest):
        read_chat(json.dumps(GOOD | {field: value}).encode())
    with suppress(RefusedRequest):
        read_chat(json.dumps(value).encode())


@given(st.binary())
def test_any_bytes_are_refused(body: bytes) -> None:
    with pytest.raises(RefusedRequest) as refused:
        read_chat(body)
    _is_one_sentence(refused.value)


def _is_one_sentence(refused: RefusedRequest) -> None:
    assert refused.status == 400
    assert "\n" not in str(refused)
    json.dumps(as_openai_error(str(refused), 400), ensure_ascii=False).encode()


def test_an_answer_has_openais_form_and_its_tokens() -> None:
    whole = answer_form("champion", 7, Completion("é ó\n\n", 3, StopReason.TOKEN_LIMIT))
    assert whole["usage"] == {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    assert whole["choices"][0]["message"] == {"role": "assistant", "content": "é ó\n\n"}
    assert whole["choices"][0]["finish_reason"] == "length"
