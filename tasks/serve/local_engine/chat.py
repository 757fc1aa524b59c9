"""Chat completions of OpenAI's API: what is asked, and the answer's form, as vLLM writes it."""

import time
import uuid
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from schemas.faults import first_fault, shown_place
from tasks.policy.generate import Completion, StopReason
from tasks.serve.local_engine.refusal import RefusedRequest

LARGEST_SEED: Final = 2**63 - 1


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


class ChatRequest(_Strict):
    """Request for one answer."""

    model: str
    messages: list[ChatTurn] = Field(min_length=1)
    temperature: float = Field(ge=1e-6, le=100)
    max_tokens: int | None = Field(None, ge=1)
    """Longest answer, in tokens; the engine's own limit where not given."""
    seed: int | None = Field(None, ge=0, le=LARGEST_SEED)
    """Decides every token; the engine's own where not given."""
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


def answer_form(model: str, prompt_tokens: int, completion: Completion) -> dict[str, Any]:
    """Return an answer as vLLM writes it."""
    reason = "stop" if completion.stop_reason is StopReason.END_OF_TURN else "length"
    message = {"role": "assistant", "content": completion.text}
    counted = {"prompt_tokens": prompt_tokens, "completion_tokens": completion.tokens}
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": reason}],
        "usage": counted | {"total_tokens": sum(counted.values())},
    }
