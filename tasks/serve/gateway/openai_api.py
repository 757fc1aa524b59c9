"""OpenAI's API: the models, and chat completions, whole or as a stream."""

import json
import time
from collections.abc import AsyncIterator
from typing import Any, Final

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse, StreamingResponse

from schemas.config.serve import ServeConfig
from tasks.serve.gateway.answering import AnswerService
from tasks.serve.gateway.errors import RequestRefused
from tasks.serve.gateway.question import Answered, AnswerPiece, ShopQuestion
from tasks.serve.gateway.requests import ChatCompletionRequest, tasks_by_name, unknown_model

CHAT_PATH: Final = "/v1/chat/completions"
REQUEST_ID: Final = "X-Request-Id"
"""Header with the request's name, as OpenAI's."""


def openai_api(answering: AnswerService, config: ServeConfig, model_name: str) -> APIRouter:
    """Return the paths of OpenAI's API.

    Args:
        answering: Answers questions.
        config: The defaults.
        model_name: The registered model, by which clients name it.
    """
    router = APIRouter(tags=["OpenAI"])
    names = (model_name, "champion")

    def described(name: str) -> dict[str, Any]:
        return {"id": name, "object": "model", "created": 0, "owned_by": model_name}

    def served() -> list[str]:
        # A bare NAME needs a task's own system prompt beside it, which a client that picks from this list has not.
        answered = answering.tasks
        return [name for name, task in tasks_by_name(names).items() if task in answered]

    @router.get("/v1/models", summary="The names that are answered to")
    async def models() -> dict[str, Any]:
        return {"object": "list", "data": [described(name) for name in served()]}

    @router.get("/v1/models/{name:path}", summary="One name that is answered to")
    async def model(name: str) -> dict[str, Any]:
        if name not in {*names, *served()}:
            raise unknown_model(name)
        return described(name)

    @router.post(CHAT_PATH, response_model=None, summary="One question, answered whole or as a stream")
    async def chat(request: ChatCompletionRequest) -> Response:
        question = request.question(names, guided=config.guided)
        headers = {REQUEST_ID: question.request_id}
        forms = _ChatForms(request.model, question)
        if not request.stream:
            return JSONResponse(forms.whole(await answering.answer(question)), headers=headers)
        pieces = answering.stream(question)
        # The first piece comes before the status: what is refused has its own.
        first = await anext(pieces)
        events = forms.events(first, pieces, with_usage=request.stream_options.include_usage)
        return StreamingResponse(events, media_type="text/event-stream", headers=headers)

    return router


class _ChatForms:
    """Forms of one question's answer, all of which have the same identity and time."""

    def __init__(self, model: str, question: ShopQuestion) -> None:
        self._head = {"id": question.request_id, "created": int(time.time()), "model": model}

    def whole(self, answered: Answered) -> dict[str, Any]:
        """Return the whole answer."""
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": answered.answer.text},
            "logprobs": None,
            "finish_reason": answered.answer.finish_reason,
        }
        return {
            **self._head,
            "object": "chat.completion",
            "system_fingerprint": answered.version,
            "choices": [choice],
            "usage": _usage(answered),
        }

    async def events(
        self, first: AnswerPiece | Answered, pieces: AsyncIterator[AnswerPiece | Answered], *, with_usage: bool
    ) -> AsyncIterator[str]:
        """Yield server-sent events."""
        role = {"role": "assistant"}
        try:
            piece: AnswerPiece | Answered | None = first
            while piece is not None:
                if isinstance(piece, Answered):
                    yield self._part(piece.version, role, piece.answer.finish_reason)
                    if with_usage:
                        yield self._event(piece.version, choices=[], usage=_usage(piece))
                    yield "data: [DONE]\n\n"
                else:
                    yield self._part(piece.version, role | {"content": piece.text}, None)
                    role = {}
                piece = await anext(pieces, None)
        except RequestRefused as refused:
            # The status was sent with the first piece.
            yield f"data: {json.dumps(refused.body)}\n\n"

    def _part(self, version: str, delta: dict[str, str], finish: str | None) -> str:
        return self._event(version, choices=[{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}])

    def _event(self, version: str, **fields: Any) -> str:
        event = {**self._head, "object": "chat.completion.chunk", "system_fingerprint": version, **fields}
        return f"data: {json.dumps(event, ensure_ascii=False)}\n\n"


def _usage(answered: Answered) -> dict[str, int]:
    prompt, answer = answered.answer.prompt_tokens, answered.answer.tokens
    return {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}
