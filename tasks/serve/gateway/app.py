"""HTTP application of the gateway: OpenAI's API, a typed path for each task, feedback, health and metrics."""

import json
import logging
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import orjson
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.telemetry import TelemetryConfig
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError
from starlette.exceptions import HTTPException

from schemas.config.serve import ServeConfig
from schemas.documents import Feedback
from schemas.faults import first_fault, shown_place
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.registry import TASKS
from tasks.serve.by_hand.routes import try_router
from tasks.serve.gateway.answer_log import DailyFile, LogUnwritable
from tasks.serve.gateway.answering import AnswerService, Metrics
from tasks.serve.gateway.limits import RequestLimits, RequestRefused
from tasks.serve.gateway.requests import (
    Answered,
    ChatCompletionRequest,
    ShopQuestion,
    TaskReply,
    tasks_by_name,
    unknown_model,
)
from tasks.serve.questions import asked_row
from tasks.serve.served_model import CHAMPION, Answerer

DESCRIPTION: Final = """Answers of a shop's own model. Each task has a path that takes what a shop has and returns what
holds of the answer; `/v1/chat/completions` is OpenAI's, for one question at a time."""

CHAT_PATH: Final = "/v1/chat/completions"
REQUEST_ID: Final = "X-Request-Id"
"""Header with the request's name, as OpenAI's."""
NO_TELEMETRY: Final[TelemetryConfig] = {"tracing": False, "metrics": False, "logs": False}
"""Not to the providers that other libraries of the process set: a span would hold what a shopper wrote."""

ScrubReference = Callable[[dict[str, Any]], dict[str, Any]]
"""Replaces the personal data in a reference."""


class FeedbackRequest(BaseModel):
    """Known part of the right answer to a request, or a rating."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    request_id: str
    reference: dict[str, JsonValue] | None = None
    rating: Annotated[int, Field(ge=1, le=5, strict=True)] | None = None


def build_app(
    answering: AnswerService,
    config: ServeConfig,
    model_name: str,
    *,
    tokens: tuple[bytes, ...],
    metrics: Metrics,
    feedback: DailyFile,
    scrub_reference: ScrubReference,
) -> FastAPI:
    """Return the application; clients name the registered model, and without tokens everybody is answered."""
    app = FastAPI(
        title=model_name,
        description=DESCRIPTION,
        version="1",
        docs_url=None,
        redoc_url=None,
        # A path that ends in a slash is answered as it is.
        redirect_slashes=False,
        telemetry=NO_TELEMETRY,
    )
    for name in TASK_NAMES:
        post = app.post(f"/v1/tasks/{name}", tags=["tasks"], summary=TASKS[name].description, operation_id=name)
        post(_task_endpoint(name, answering, config))
    app.include_router(_openai(answering, config, model_name))
    app.include_router(_operation(answering, metrics, feedback, scrub_reference))
    app.include_router(try_router(answering, feedback.folder.parent))
    _refuse_in_one_form(app, metrics)
    app.add_middleware(
        RequestLimits,
        own_pages_only=config.is_on_loopback,
        tokens=tokens,
        body_bytes=config.body_bytes,
        seconds_to_send=config.seconds_to_send,
        refused=metrics.refused,
    )
    return app


def _task_endpoint(name: TaskName, answering: AnswerService, config: ServeConfig) -> Callable[..., Any]:
    async def answer(inputs: Any, guided: bool | None = None, by: Answerer = CHAMPION) -> TaskReply:
        row = asked_row(name, TASKS[name].system, inputs.prompt(TASKS[name].instruction))
        answered = await answering.answer(ShopQuestion(row, config.guided if guided is None else guided), by)
        return TaskReply(
            request_id=answered.request_id,
            task=name,
            version=answered.version,
            **answered.served._asdict(),
            guided=answered.guided,
            tokens=answered.answer.tokens,
            milliseconds=round(answered.milliseconds, 1),
        )

    # FastAPI reads the type of a body from the annotation.
    answer.__annotations__["inputs"] = TASKS[name].inputs
    return answer


def _openai(answering: AnswerService, config: ServeConfig, model_name: str) -> APIRouter:
    """Return the paths of OpenAI's API, by which clients name the registered model or `champion`."""
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
        answered = await answering.answer(question)
        if not request.stream:
            return JSONResponse(_whole(request.model, answered), headers=headers)
        events = _events(request.model, answered, with_usage=request.stream_options.include_usage)
        return Response("".join(events), media_type="text/event-stream", headers=headers)

    return router


def _whole(model: str, answered: Answered, kind: str = "chat.completion") -> dict[str, Any]:
    """Return an answer in OpenAI's form, with what was checked beside its fields, which clients keep."""
    served, answer = answered.served, answered.answer
    refusal = None if served.text is not None else served.reason
    message = {"role": "assistant", "content": served.text, "refusal": refusal}
    return {
        "id": answered.request_id,
        "object": kind,
        "created": int(time.time()),
        "model": model,
        "system_fingerprint": answered.version,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": answer.finish_reason}],
        "usage": {
            "prompt_tokens": answer.prompt_tokens,
            "completion_tokens": answer.tokens,
            "total_tokens": answer.prompt_tokens + answer.tokens,
        },
        "checked": served.checked,
        "reason": served.reason,
    }


def _events(model: str, answered: Answered, *, with_usage: bool) -> Iterator[str]:
    """Yield server-sent events: the whole text first, since no word is sent before all of them are checked."""
    event = _whole(model, answered, "chat.completion.chunk")
    usage, checked = event.pop("usage"), {name: event.pop(name) for name in ("checked", "reason")}
    (choice,) = event["choices"]
    text = {name: value for name, value in choice.pop("message").items() if value is not None}
    for delta, finish, beside in ((text, None, {}), ({}, choice["finish_reason"], checked)):
        choices = [choice | {"delta": delta, "finish_reason": finish}]
        yield f"data: {json.dumps(event | {'choices': choices} | beside, ensure_ascii=False)}\n\n"
    if with_usage:
        yield f"data: {json.dumps(event | {'choices': [], 'usage': usage}, ensure_ascii=False)}\n\n"
    yield "data: [DONE]\n\n"


def _operation(
    answering: AnswerService, metrics: Metrics, feedback: DailyFile, scrub_reference: ScrubReference
) -> APIRouter:
    router = APIRouter(tags=["operation"])

    @router.post("/v1/feedback", status_code=204, summary="What became known of an answer")
    async def keep_feedback(request: FeedbackRequest) -> None:
        try:
            reference = scrub_reference(request.reference) if request.reference is not None else None
            known = Feedback(**{**dict(request), "reference": reference}, time=datetime.now(UTC))
        except ValidationError as error:
            raise RequestRefused(422, "invalid_request", first_fault(error)) from None
        except orjson.JSONEncodeError:
            sentence = "reference: it holds a text that is no Unicode, a number beyond 64 bits, or too many levels"
            raise RequestRefused(422, "invalid_request", sentence, param="reference") from None
        try:
            feedback.append(known, known.time)
        except LogUnwritable as error:
            raise RequestRefused(503, "log_unwritable", f"it cannot be kept: {error}", retry_after=30) from None

    @router.get("/healthz", summary="Whether the gateway runs")
    async def alive() -> dict[str, str]:
        return {"status": "alive"}

    @router.get("/health", include_in_schema=False)
    @router.get("/readyz", summary="Whether the engine answers, and its version")
    async def ready() -> dict[str, str]:
        deployment = answering.deployment
        if not await deployment.client.is_healthy():
            raise RequestRefused(503, "engine_not_ready", "the engine does not answer yet", retry_after=1)
        return {"status": "ready", "version": deployment.model.version_name}

    @router.get("/metrics", response_class=Response, summary="Metrics for Prometheus")
    async def show_metrics() -> Response:
        metrics.requests_inside.set(answering.requests_inside)
        return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)

    return router


def _refuse_in_one_form(app: FastAPI, metrics: Metrics) -> None:
    def answer(request: Request, refused: RequestRefused) -> Response:
        metrics.refused.labels(refused.code).inc()
        if refused.status == 422 and request.url.path == CHAT_PATH:
            # OpenAI's own, for which its clients have a class.
            refused.status = 400
        return refused.response()

    async def fail(request: Request, error: Exception) -> Response:
        logging.getLogger("uvicorn.error").error("%s %s failed", request.method, request.url.path, exc_info=error)
        return answer(request, RequestRefused(500, "internal_error", "the gateway failed, and its log has the cause"))

    # Not `Exception`, which Starlette raises again once it is answered: uvicorn then closes the connection.
    for kind in (ArithmeticError, AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError):
        app.add_exception_handler(kind, fail)

    @app.exception_handler(RequestRefused)
    async def refuse(request: Request, error: RequestRefused) -> Response:
        return answer(request, error)

    @app.exception_handler(HTTPException)
    async def refuse_path(request: Request, error: HTTPException) -> Response:
        hint = f"; the tasks are {', '.join(TASK_NAMES)}" if error.status_code == 404 else ""
        return answer(request, RequestRefused(error.status_code, "no_such_request", f"{error.detail}{hint}"))

    @app.exception_handler(RequestValidationError)
    async def refuse_body(request: Request, error: RequestValidationError) -> Response:
        # What cannot be honoured is named before what is missing: it may be why.
        fault = min(error.errors(), key=lambda each: each["type"] == "missing")
        # What a shopper wrote is repeated nowhere: the place and the rule are enough.
        place = [part for part in fault["loc"] if part != "body"]
        rule = fault["msg"].removeprefix("Value error, ")
        if fault["type"] == "extra_forbidden":
            rule = "no such field is known here; leave it out"
        sentence = f"{shown_place(place)}: {rule}" if place else rule
        return answer(request, RequestRefused(422, "invalid_request", sentence, param=shown_place(place[:1]) or None))
