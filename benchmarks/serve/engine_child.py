"""The laptop's own engine on a port, so that the same one is asked by clients and by the gateway."""

import socket
from pathlib import Path

from tasks.policy.child import Channel, as_child
from tasks.serve.local_engine.child import serve_on
from tasks.serve.local_engine.request import LocalEngineRequest


def main(request_file: Path, channel: Channel) -> None:
    """Serve on the port that the request's socket is named for."""
    request = LocalEngineRequest.model_validate_json(request_file.read_text(encoding="utf-8"))
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", int(request.socket.name)))
        serve_on(request, listener, channel)


if __name__ == "__main__":
    with as_child() as (request_file, channel):
        main(request_file, channel)
