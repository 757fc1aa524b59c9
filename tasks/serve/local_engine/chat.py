"""Chat completions of OpenAI's API: what is asked, and the answer's forms, whole or in parts, as vLLM writes them."""

import json
import time
import uuid
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from schemas.faults import first_fault, shown_place
from tasks.policy.generate import Completion, StopReason
from tasks.serve.local_engine.refusal import RefusedRequest

LARGEST_SEED: Final = 2**63 - 1
LAST_EVENT: Final = b"data: [DONE]\n\n"


class _Strict(BaseModel):
    """Part of a request: a field that the engine does not know is refused, since its effect would be missing."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class ChatTurn(_Strict):
    """Turn of the conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class GuidedBy(_Strict):
    """What guides an answer, in vLLM's form."""

    grammar: str = Field(min_length=1)
    """In the Lark notation of llguidance."""


class StreamOptions(_Strict):
    """Options of an answer in parts."""

    include_usage: bool = False
    """Whether a last part counts the tokens."""


class ChatRequest(_Strict):
    """Request for one answer."""

    model: str
    messages: list[ChatTurn] = Field(min_length=1)
    temperature: float = Field(ge=1e-6, le=100)
    max_tokens: int | None = Field(None, ge=1)
    """Longest answer, in tokens; the engine's own limit where not given."""
    seed: int | None = Field(None, ge=0, le=LARGEST_SEED)
    """Decides every token; the engine's own where not given."""
    stream: bool = False
    stream_options: StreamOptions | None = None
    structured_outputs: GuidedBy | None = None


def read_chat(body: bytes) -> ChatRequest:
    """Read the body of a request.

    Raises:
        RefusedRequest: It is none.
    """
    try:
        return ChatRequest.model_validate_json(body)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        if fault["type"] == "extra_forbidden":
            raise RefusedRequest(
                f"{shown_place(fault['loc'])} is nothing that this engine knows; leave it out"
            ) from None
        raise RefusedRequest(f"the request cannot be answered: {first_fault(error)}") from None


@dataclass(frozen=True)
class ChatForms:
    """Forms of one request's answer."""

    model: str
    prompt_tokens: int
    name: str = field(default_factory=lambda: f"chatcmpl-{uuid.uuid4().hex}")
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, completion: Completion) -> dict[str, Any]:
        """Return the answer as one object."""
        message = {"role": "assistant", "content": completion.text}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _reason(completion)}
        return self._named("chat.completion", [choice]) | {"usage": self._usage(completion)}

    def begin(self) -> bytes:
        """Return the first event, which has no text yet."""
        return self._part({"role": "assistant", "content": ""}, None)

    def part(self, text: str) -> bytes:
        """Return the event of some more text."""
        return self._part({"content": text}, None)

    def end(self, text: str, completion: Completion) -> bytes:
        """Return the event of the last text, which may be empty."""
        return self._part({"content": text}, _reason(completion))

    def count(self, completion: Completion) -> bytes:
        """Return the event that counts the tokens."""
        return as_event(self._named("chat.completion.chunk", []) | {"usage": self._usage(completion)})

    def _part(self, delta: dict[str, str], reason: str | None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return as_event(self._named("chat.completion.chunk", [choice]))

    def _named(self, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return {"id": self.name, "object": kind, "created": self.created, "model": self.model, "choices": choices}

    def _usage(self, completion: Completion) -> dict[str, int]:
        counted = {"prompt_tokens": self.prompt_tokens, "completion_tokens": completion.tokens}
        return counted | {"total_tokens": sum(counted.values())}


def as_event(value: dict[str, Any]) -> bytes:
    """Return a server-sent event."""
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()


def _reason(completion: Completion) -> str:
    return "stop" if completion.stop_reason is StopReason.END_OF_TURN else "length"
