"""OpenAI's API: the models, and chat completions, whole or as a stream."""

import json
import time
from collections.abc import Iterator
from typing import Any, Final

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from schemas.config.serve import ServeConfig
from tasks.serve.gateway.answering import AnswerService
from tasks.serve.gateway.requests import Answered, ChatCompletionRequest, tasks_by_name, unknown_model

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
        forms = _ChatForms(request.model, await answering.answer(question))
        if not request.stream:
            return JSONResponse(forms.whole(), headers=headers)
        # No word is sent before all of them are checked.
        events = forms.events(with_usage=request.stream_options.include_usage)
        return Response("".join(events), media_type="text/event-stream", headers=headers)

    return router


class _ChatForms:
    """Forms of one answer, all of which have the same identity and time."""

    def __init__(self, model: str, answered: Answered) -> None:
        served, answer = answered.served, answered.answer
        self._head = {
            "id": answered.request_id,
            "created": int(time.time()),
            "model": model,
            "system_fingerprint": answered.version,
        }
        # Beside OpenAI's fields; its clients keep what they do not know.
        self._checked = {"checked": served.checked, "reason": served.reason}
        self._message = {"content": served.text, "refusal": None if served.text is not None else served.reason}
        self._finish = answer.finish_reason
        prompt, tokens = answer.prompt_tokens, answer.tokens
        self._usage = {"prompt_tokens": prompt, "completion_tokens": tokens, "total_tokens": prompt + tokens}

    def whole(self) -> dict[str, Any]:
        """Return the whole answer."""
        message = {"role": "assistant", **self._message}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self._finish}
        known = {"choices": [choice], "usage": self._usage}
        return {**self._head, "object": "chat.completion", **known, **self._checked}

    def events(self, *, with_usage: bool) -> Iterator[str]:
        """Yield server-sent events."""
        message = {name: text for name, text in self._message.items() if text is not None}
        yield self._part({"role": "assistant", **message}, None)
        yield self._part({}, self._finish, **self._checked)
        if with_usage:
            yield self._event(choices=[], usage=self._usage)
        yield "data: [DONE]\n\n"

    def _part(self, delta: dict[str, str], finish: str | None, **beside: Any) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return self._event(choices=[choice], **beside)

    def _event(self, **fields: Any) -> str:
        event = {**self._head, "object": "chat.completion.chunk", **fields}
        return f"data: {json.dumps(event, ensure_ascii=False)}\n\n"
