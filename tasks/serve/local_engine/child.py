"""Process of the laptop's own engine."""

import signal
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import uvicorn

from schemas.errors import InputError
from tasks.policy.child import Channel, as_child
from tasks.serve.local_engine.request import LocalEngineRequest

SECONDS_TO_END: Final = 8
"""Time for requests under way after SIGTERM."""


class _Server(uvicorn.Server):
    """Server that ends in order at SIGTERM, and whose process then goes on to its own end."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        signal.signal(signal.SIGTERM, self.handle_exit)
        yield


def main(request_file: Path, channel: Channel) -> None:
    """Load the models and serve them until SIGTERM."""
    request = LocalEngineRequest.model_validate_json(request_file.read_text(encoding="utf-8"))
    listener = _bound(request.socket)
    try:
        serve_on(request, listener, channel)
    finally:
        listener.close()
        request.socket.unlink(missing_ok=True)


def serve_on(request: LocalEngineRequest, listener: socket.socket, channel: Channel) -> None:
    """Load the models and serve them on a bound socket until SIGTERM."""
    channel.progress(0, 1 + len(request.adapters), "loading torch")

    import transformers

    from tasks.serve.local_engine.app import engine_app
    from tasks.serve.local_engine.drawing import Drawing
    from tasks.serve.local_engine.loaded import load_models

    transformers.utils.logging.disable_progress_bar()
    loaded = load_models(request, channel.progress)
    drawing = Drawing(loaded, lambda: setattr(server, "should_exit", True))
    config = uvicorn.Config(
        engine_app(loaded, drawing), log_level="warning", timeout_graceful_shutdown=SECONDS_TO_END, lifespan="off"
    )
    server = _Server(config)
    try:
        server.run(sockets=[listener])
    finally:
        drawing.close()
    if drawing.error is not None:
        raise drawing.error


def _bound(path: Path) -> socket.socket:
    """Return a socket with this file, that only this user can reach, and that does not listen yet.

    Raises:
        InputError: Another process listens there, or it can be no socket's file.
    """
    listener = socket.socket(socket.AF_UNIX)
    try:
        if path.exists() and stat.S_ISSOCK(path.stat().st_mode):
            with socket.socket(socket.AF_UNIX) as client:
                if client.connect_ex(str(path)) == 0:
                    raise InputError(f"another process serves on {path}; end it, or take another file")
            path.unlink()
        listener.bind(str(path))
        path.chmod(0o600)
    except OSError as error:
        listener.close()
        raise InputError(f"{path} cannot be the file of the engine's socket ({error}); take another") from error
    return listener


if __name__ == "__main__":
    with as_child() as (request_file, channel):
        main(request_file, channel)
