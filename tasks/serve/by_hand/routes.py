"""Paths of the page: itself, and the log's wrong answers; it asks tasks and sends feedback as every client does."""

import asyncio
import re
from pathlib import Path
from typing import Annotated, Any, Final, cast, get_args

from fastapi import APIRouter, Header, Query
from fastapi.responses import HTMLResponse

from schemas.config.section import Language
from schemas.errors import InputError
from tasks.serve.by_hand.page import render
from tasks.serve.by_hand.wrong_answers import wrong_answers
from tasks.serve.gateway.answering import AnswerService
from tasks.serve.gateway.limits import RequestRefused

_WEIGHT: Final = re.compile(r"[01](?:\.\d{1,3})?")
HEADERS: Final = {
    "Cache-Control": "no-store",
    # A page's own policy cannot forbid that another page shows it in a frame.
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Vary": "Accept-Language",
    "X-Content-Type-Options": "nosniff",
}


def try_router(answering: AnswerService, logs: Path) -> APIRouter:
    """Return the paths of a gateway that logs into a folder."""
    router = APIRouter(tags=["operation"])

    @router.get("/", include_in_schema=False)
    async def page(
        lang: Annotated[Language | None, Query()] = None, accept_language: Annotated[str, Header()] = ""
    ) -> HTMLResponse:
        served = answering.deployment
        language, beside, answered = lang or preferred(accept_language), tuple(served.beside), tuple(answering.tasks)
        return HTMLResponse(render(language, served.model.version_name, beside, answered), headers=HEADERS)

    @router.get("/v1/feedback", summary="Answers of the last days that feedback says are wrong")
    async def wrong() -> dict[str, Any]:
        try:
            return {"data": await asyncio.to_thread(wrong_answers, logs)}
        except InputError as error:
            raise RequestRefused(503, "log_unreadable", str(error)) from None

    return router


def preferred(accepted: str) -> Language:
    """Return the language that a browser names first of those that the page has; English where it names none."""
    weighted: list[tuple[float, Language]] = [(0.0, "en")]
    for each in accepted.lower().split(","):
        name, _, weight = each.partition(";q=")
        share = float(weight) if _WEIGHT.fullmatch(weight) else 1.0
        if (code := name.strip()[:2]) in get_args(Language):
            weighted.append((share, cast("Language", code)))
    # The first of equal weights.
    return max(weighted, key=lambda each: each[0])[1]
