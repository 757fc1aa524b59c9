"""HTTP application of the gateway: OpenAI's API, a typed path for each task, feedback, health and metrics."""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import orjson
from fastapi import APIRouter, FastAPI, Header, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles
from fastapi.telemetry import TelemetryConfig
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator
from starlette.exceptions import HTTPException

from schemas.config.report import Language
from schemas.config.serve import ServeConfig
from schemas.documents import Feedback
from schemas.faults import first_fault, shown_place
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.registry import TASKS
from tasks.serve.gateway.answer_log import DailyFile, LogUnwritable
from tasks.serve.gateway.answering import AnswerService
from tasks.serve.gateway.dashboard import write_dashboard
from tasks.serve.gateway.limits import API_ICON, API_SCRIPT, API_STYLE, RequestLimits, RequestRefused
from tasks.serve.gateway.metrics import Metrics, OwnTime
from tasks.serve.gateway.openai_api import CHAT_PATH, openai_api
from tasks.serve.gateway.requests import ShopQuestion, TaskReply
from tasks.serve.questions import typed_row

DESCRIPTION: Final = """Answers of a shop's own model. Each task has a path that takes what a shop has and returns what
holds of the answer; `/v1/chat/completions` is OpenAI's, for one question at a time."""

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
    rating: Annotated[int, Field(ge=1, le=5, strict=True)] | None = None

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
        # A path that ends in a slash is answered as it is.
        redirect_slashes=False,
        telemetry=NO_TELEMETRY,
    )
    _show_api(app, model_name)
    app.include_router(_tasks(answering, config))
    app.include_router(openai_api(answering, config, model_name))
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
        is_guided = config.guided if guided is None else guided
        question = ShopQuestion(typed_row(name, inputs), is_guided, key=key)
        return TaskReply.of(name, await answering.answer(question))

    # FastAPI reads the type of a body from the annotation.
    answer.__annotations__["inputs"] = task.inputs
    return answer


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

    @router.get("/health", include_in_schema=False)
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
        serving = answering.deployment
        page = await asyncio.to_thread(
            write_dashboard,
            logs,
            datetime.now(UTC),
            model=model_name,
            version=serving.model.version_name,
            ready=serving.is_ready,
            language=language,
        )
        return HTMLResponse(page)

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
        return answer(request, RequestRefused(error.status_code, "no_such_request", str(error.detail)))

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
