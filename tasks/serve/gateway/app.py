"""HTTP application of the gateway: OpenAI's API, a typed path for each task, feedback, health and metrics."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import orjson
from fastapi import APIRouter, FastAPI, Header, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse, JSONResponse, StreamingResponse
from fastapi.staticfiles import StaticFiles
from fastapi.telemetry import TelemetryConfig
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator
from starlette.exceptions import HTTPException

from schemas.config.report import Language
from schemas.config.serve import ServeConfig
from schemas.documents import Feedback
from schemas.errors import InputError
from schemas.faults import first_fault, shown_place
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.registry import TASKS
from tasks.serve.gateway.answer_log import DailyFile, LogUnwritable
from tasks.serve.gateway.answering import Answered, AnswerService, ShopQuestion
from tasks.serve.gateway.dashboard import last_day, write_dashboard
from tasks.serve.gateway.errors import RequestRefused
from tasks.serve.gateway.limits import API_ICON, API_SCRIPT, API_STYLE, RequestLimits
from tasks.serve.gateway.metrics import Metrics
from tasks.serve.gateway.own_time import OwnTime
from tasks.serve.gateway.requests import ChatCompletionRequest, TaskReply, tasks_by_name
from tasks.serve.questions import typed_row

DESCRIPTION: Final = """Answers of a shop's own model. Each task has a path that takes what a shop has and returns the
answer parsed and checked; `/v1/chat/completions` is OpenAI's, for one question at a time."""

NO_TELEMETRY: Final[TelemetryConfig] = {"tracing": False, "metrics": False, "logs": False}
"""Not to the providers that other libraries of the process set: a span would hold what a shopper wrote."""

Key = Annotated[str | None, Header(alias="X-Request-Key", max_length=200)]
"""Whose requests the same version answers while a challenger is tried; it is not logged."""

ScrubReference = Callable[[dict[str, Any]], dict[str, Any]]
"""Replaces the personal data in a reference."""


class FeedbackRequest(BaseModel):
    """What became known of an answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    request_id: str
    """The request, as its answer named it."""
    reference: dict[str, JsonValue] | None = None
    """The right answer, or the known part of it."""
    rating: Annotated[int, Field(ge=1, le=5)] | None = None

    @field_validator("reference")
    @classmethod
    def _can_be_written(cls, reference: dict[str, JsonValue] | None) -> dict[str, JsonValue] | None:
        try:
            orjson.dumps(reference)
        except orjson.JSONEncodeError:
            raise ValueError(
                "it holds a text that is no Unicode, a number beyond 64 bits, or too many levels"
            ) from None
        return reference


def build_app(
    answering: AnswerService,
    config: ServeConfig,
    model_name: str,
    *,
    tokens: tuple[bytes, ...],
    metrics: Metrics,
    feedback: DailyFile,
    scrub_reference: ScrubReference,
    logs: Path,
    language: Language,
) -> FastAPI:
    """Return the application.

    Args:
        answering: Answers questions.
        config: Limits and defaults.
        model_name: The registered model, by which clients name it.
        tokens: Bearer tokens; without any, everybody is answered.
        metrics: Shown at `/metrics`.
        feedback: Takes what became known.
        scrub_reference: Applied to a reference before it is written.
        logs: Folder of the log, of which a page shows the last day.
        language: Of that page, unless the request names another.
    """
    app = FastAPI(
        title=model_name,
        description=DESCRIPTION,
        version="1",
        docs_url=None,
        redoc_url=None,
        swagger_ui_oauth2_redirect_url=None,
        telemetry=NO_TELEMETRY,
    )
    _show_api(app, model_name)
    app.include_router(_tasks(answering, config))
    app.include_router(_openai(answering, config, model_name))
    app.include_router(_feedback(feedback, scrub_reference))
    app.include_router(_health(answering, metrics))
    app.include_router(_page(answering, model_name, logs, language))
    _refuse_in_one_form(app, metrics)
    app.add_middleware(OwnTime, histogram=metrics.own_seconds)
    app.add_middleware(
        RequestLimits,
        own_pages_only=config.is_on_loopback,
        tokens=tokens,
        body_bytes=config.body_bytes,
        seconds_to_send=config.seconds_to_send,
        refused=metrics.refused,
    )
    return app


def _show_api(app: FastAPI, model_name: str) -> None:
    """Show the API's page from files of this machine: FastAPI's own loads its scripts from somebody else's server."""
    app.mount("/swagger", StaticFiles(packages=[("fastapi_swagger", "resources")]))
    page = get_swagger_ui_html(
        # Relative, so that it is found behind any proxy.
        openapi_url="openapi.json",
        title=model_name,
        swagger_js_url=API_SCRIPT,
        swagger_css_url=API_STYLE,
        swagger_favicon_url=API_ICON,
        swagger_ui_parameters={"validatorUrl": None},
    )

    @app.get("/docs", include_in_schema=False)
    async def show() -> HTMLResponse:
        return page


def _tasks(answering: AnswerService, config: ServeConfig) -> APIRouter:
    router = APIRouter(tags=["tasks"])
    for name in TASK_NAMES:
        router.add_api_route(
            f"/v1/tasks/{name}",
            _task_endpoint(name, answering, config),
            methods=["POST"],
            summary=TASKS[name].description,
            operation_id=name,
        )
    return router


def _task_endpoint(name: TaskName, answering: AnswerService, config: ServeConfig) -> Callable[..., Any]:
    task = TASKS[name]

    async def answer(inputs: Any, guided: bool | None = None, key: Key = None) -> TaskReply:
        is_guided = task.answers_in_json and (config.guided if guided is None else guided)
        question = ShopQuestion(typed_row(name, inputs), is_guided, key=key)
        return TaskReply.of(name, await answering.answer(question))

    # FastAPI reads the type of a body from the annotation.
    answer.__annotations__["inputs"] = task.inputs
    return answer


def _openai(answering: AnswerService, config: ServeConfig, model_name: str) -> APIRouter:
    router = APIRouter(prefix="/v1", tags=["OpenAI"])
    names = (model_name, "champion")

    @router.get("/models", summary="The names that are answered to")
    async def models() -> dict[str, Any]:
        # A bare NAME needs a task's own system prompt beside it, which a client that picks from this list has not.
        answered = answering.tasks
        served = [name for name, task in tasks_by_name(names).items() if task in answered]
        return {
            "object": "list",
            "data": [{"id": each, "object": "model", "created": 0, "owned_by": model_name} for each in served],
        }

    @router.post("/chat/completions", response_model=None, summary="One question, answered whole or as a stream")
    async def chat(request: ChatCompletionRequest) -> Response:
        try:
            question = request.question(names, guided=config.guided)
        except InputError as error:
            raise RequestRefused(404, "unknown_model", str(error)) from None
        if not request.stream:
            return JSONResponse(_completion(request.model, await answering.answer(question)))
        pieces = answering.stream(question)
        # The first piece comes before the status: what is refused has its own.
        first = await anext(pieces)
        with_usage = request.stream_options is not None and request.stream_options.include_usage
        return StreamingResponse(_events(request.model, first, pieces, with_usage), media_type="text/event-stream")

    return router


def _completion(model: str, answered: Answered) -> dict[str, Any]:
    return {
        "id": answered.request_id,
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "system_fingerprint": answered.version,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": answered.answer.text},
                "finish_reason": answered.answer.finish_reason,
            }
        ],
        "usage": _usage(answered),
    }


def _usage(answered: Answered) -> dict[str, int]:
    prompt, answer = answered.answer.prompt_tokens, answered.answer.tokens
    return {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}


async def _events(
    model: str, first: str | Answered, pieces: AsyncIterator[str | Answered], with_usage: bool
) -> AsyncIterator[str]:
    """Yield server-sent events; the id of the request, which is known at its end, is in the last ones."""
    created = int(time.time())

    def event(identity: str, version: str | None, **fields: Any) -> str:
        head = {"id": identity, "object": "chat.completion.chunk", "created": created, "model": model}
        return f"data: {json.dumps(head | {'system_fingerprint': version} | fields, ensure_ascii=False)}\n\n"

    def choice(delta: dict[str, str], finish: str | None = None) -> list[dict[str, Any]]:
        return [{"index": 0, "delta": delta, "finish_reason": finish}]

    role = {"role": "assistant"}
    try:
        piece: str | Answered | None = first
        while piece is not None:
            if isinstance(piece, Answered):
                last = choice(role, piece.answer.finish_reason)
                yield event(piece.request_id, piece.version, choices=last)
                if with_usage:
                    yield event(piece.request_id, piece.version, choices=[], usage=_usage(piece))
                yield "data: [DONE]\n\n"
            else:
                yield event("", None, choices=choice(role | {"content": piece}))
                role = {}
            piece = await anext(pieces, None)
    except RequestRefused as refused:
        # The status was sent with the first piece.
        yield f"data: {json.dumps({'error': {'message': refused.message, 'code': refused.code}})}\n\n"


def _feedback(feedback: DailyFile, scrub_reference: ScrubReference) -> APIRouter:
    router = APIRouter(prefix="/v1", tags=["feedback"])

    @router.post("/feedback", status_code=204, summary="What became known of an answer")
    async def keep_feedback(request: FeedbackRequest) -> None:
        reference = scrub_reference(request.reference) if request.reference is not None else None
        try:
            known = Feedback(
                request_id=request.request_id, time=datetime.now(UTC), reference=reference, rating=request.rating
            )
        except ValidationError as error:
            raise RequestRefused(422, "invalid_request", first_fault(error)) from None
        try:
            feedback.append(known, known.time)
        except LogUnwritable as error:
            raise RequestRefused(503, "log_unwritable", f"it cannot be kept: {error}", retry_after=30) from None

    return router


def _health(answering: AnswerService, metrics: Metrics) -> APIRouter:
    router = APIRouter(tags=["operation"])

    @router.get("/healthz", summary="Whether the gateway runs")
    async def alive() -> dict[str, str]:
        return {"status": "alive"}

    @router.get("/readyz", summary="Whether the engine answers, and its version")
    async def ready() -> dict[str, str]:
        deployment = answering.deployment
        if not deployment.is_ready:
            raise RequestRefused(503, "engine_not_ready", "the engine does not answer yet", retry_after=1)
        return {"status": "ready", "version": deployment.model.version_name}

    @router.get("/metrics", response_class=Response, summary="Metrics for Prometheus")
    async def show_metrics() -> Response:
        metrics.requests_inside.set(answering.requests_inside)
        deployment = answering.deployment
        if deployment.process is not None:
            metrics.engine_starts.labels(deployment.model.version_name).set(deployment.process.starts)
        return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)

    return router


def _page(answering: AnswerService, model_name: str, logs: Path, spoken: Language) -> APIRouter:
    router = APIRouter(tags=["operation"])

    @router.get("/", response_class=HTMLResponse, summary="The last day, as a page")
    async def show_last_day(language: Language = spoken) -> HTMLResponse:
        day = await asyncio.to_thread(last_day, logs, datetime.now(UTC))
        serving = answering.deployment
        page = write_dashboard(
            day,
            model=model_name,
            version=serving.model.version_name,
            ready=serving.is_ready,
            language=language,
        )
        return HTMLResponse(page)

    return router


def _refuse_in_one_form(app: FastAPI, metrics: Metrics) -> None:
    def answer(refused: RequestRefused) -> Response:
        metrics.refused.labels(refused.code).inc()
        return refused.response()

    @app.exception_handler(RequestRefused)
    async def refuse(_: Request, error: RequestRefused) -> Response:
        return answer(error)

    @app.exception_handler(HTTPException)
    async def refuse_path(_: Request, error: HTTPException) -> Response:
        return answer(RequestRefused(error.status_code, "no_such_request", str(error.detail)))

    @app.exception_handler(RequestValidationError)
    async def refuse_body(_: Request, error: RequestValidationError) -> Response:
        fault = error.errors()[0]
        # What a shopper wrote is repeated nowhere: the place and the rule are enough.
        place = shown_place([part for part in fault["loc"] if part != "body"])
        rule = fault["msg"].removeprefix("Value error, ")
        return answer(RequestRefused(422, "invalid_request", f"{place}: {rule}" if place else rule))
