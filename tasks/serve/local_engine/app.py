"""HTTP interface of the engine: OpenAI's API as far as one model server needs it."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from tasks.policy.generate import Completion
from tasks.serve.local_engine.asked import AskedAnswer, Heard, ready
from tasks.serve.local_engine.chat import answer_form, read_chat
from tasks.serve.local_engine.drawing import Drawing
from tasks.serve.local_engine.loaded import LoadedModels
from tasks.serve.local_engine.refusal import RefusedRequest, as_openai_error

MOST_BYTES: Final = 4 << 20
"""Largest body of a request: the grammar of queries has 700 kB."""
HUNG_UP: Final = Response(status_code=499)
"""Answer to a client that has hung up, which nobody reads."""


def engine_app(loaded: LoadedModels, drawing: Drawing) -> FastAPI:
    """Return the application.

    Args:
        loaded: The models.
        drawing: Draws their answers.
    """
    app = FastAPI(title="Local engine", openapi_url=None)
    # One thread: tokenizers and compiled grammars are not made for more, and the event loop stays free.
    reader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reader")

    @app.exception_handler(RefusedRequest)
    async def refuse(_: Request, refused: RefusedRequest) -> Response:
        return JSONResponse(as_openai_error(str(refused), refused.status), refused.status)

    @app.exception_handler(HTTPException)
    async def refuse_path(_: Request, error: HTTPException) -> Response:
        return JSONResponse(as_openai_error(str(error.detail), error.status_code), error.status_code)

    @app.get("/health")
    async def health() -> Response:
        return Response(status_code=200 if drawing.error is None else 503)

    @app.get("/v1/models")
    async def models() -> dict[str, Any]:
        listed = [{"id": model.name, "object": "model", "created": 0, "owned_by": "tucano"} for model in loaded.models]
        return {"object": "list", "data": listed}

    @app.post("/v1/chat/completions")
    async def chat_completions(request: Request) -> Response:
        body = await _read_body(request)
        heard: asyncio.Queue[Heard] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def tell(news: Heard) -> None:
            # The loop is closed where the process ends meanwhile.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(heard.put_nowait, news)

        asked = await loop.run_in_executor(reader, lambda: ready(read_chat(body), loaded, tell))
        drawing.ask(asked)
        completion = await _whole(request, asked, heard)
        if completion is None:
            return HUNG_UP
        return JSONResponse(answer_form(asked.model.name, len(asked.row.prompt), completion))

    @app.exception_handler(ClientDisconnect)
    async def forget(_: Request, __: ClientDisconnect) -> Response:
        return HUNG_UP

    return app


async def _read_body(request: Request) -> bytes:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            raise RefusedRequest(f"the request is larger than {MOST_BYTES >> 20} MiB; shorten it", 413)
    return bytes(body)


async def _whole(request: Request, asked: AskedAnswer, heard: "asyncio.Queue[Heard]") -> Completion | None:
    """Wait for an answer's end; return None where the client hung up before."""
    answering = asyncio.ensure_future(heard.get())
    leaving = asyncio.ensure_future(_hung_up(request))
    try:
        await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            return None
        news = answering.result()
        if news.refused is not None:
            raise news.refused
        return news.completion
    finally:
        asked.gone = True
        answering.cancel()
        leaving.cancel()


async def _hung_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
