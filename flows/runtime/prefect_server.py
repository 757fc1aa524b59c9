"""Servers on loopback over the state folder: Prefect's for one session, and Prefect's and MLflow's for `tucano ui`.

Prefect starts a temporary server by itself where none is configured, but that one survives its parent's SIGKILL; this
one ends with its parent, however the parent ends.
"""

import http.client
import importlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from flows.runtime.signals import Loss, ended_by
from schemas.errors import TucanoError
from schemas.python_process import collect_rarely, safe_environment
from schemas.sqlite_file import Schema, SqliteFile
from tasks.policy.child import die_with_parent, end_group

HOST = "127.0.0.1"
KEYS = "PREFECT_API_AUTH_STRING=USER:PASSWORD for a server of your own, or PREFECT_API_KEY for Prefect Cloud"
REVISIONS = "server/database/_migrations/versions/sqlite"
OTHER_DATABASES = {"PREFECT_API_DATABASE_CONNECTION_URL", "PREFECT_SERVER_DATABASE_CONNECTION_URL"}
"""Variables by which a user names another database than that in Prefect's home."""
SECONDS_TO_START = 120
SECONDS_TO_END = 5
SECONDS_OF_SILENCE = 60.0
"""Time after which Prefect's client, too, gives a request up."""


@contextmanager
def session_server(log_file: Path, meanwhile: Callable[[], object] | None = None) -> Iterator[str]:
    """Start the server, yield its API address once it answers, and stop it with the block."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port = probe.getsockname()[1]
    address = f"http://{HOST}:{port}/api"
    settings = {"PREFECT_UI_ENABLED": "false", "PREFECT__SERVER_EPHEMERAL": "1", "PREFECT__SERVER_FINAL": "1"}
    server = start_server(["flows.runtime.prefect_server", str(port)], log_file, settings)
    try:
        # The session needs Prefect itself, whose import takes half as long as the server's start.
        importlib.import_module("prefect.flows")
        if meanwhile is not None:
            meanwhile()
        wait_for(partial(reachable, address), [server], f"Prefect's server did not start; its log is {log_file}")
        with ended_by(_loss_of(address, server, log_file)):
            yield address
    finally:
        end_group(server, SECONDS_TO_END)


def start_server(command: Sequence[str], log_file: Path, settings: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    """Start a module that serves, with its arguments, in an environment with some settings."""
    with log_file.open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", *command],
            # Its end shows a server that this process is gone, however it ended.
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env={**safe_environment(), **settings},
            start_new_session=True,
        )


def prove_prefect_usable(home: Path) -> None:
    """Refuse a database that a server could not use: it would try for minutes, and say so to a log."""
    schema = Schema("prefect", REVISIONS, "prefect server database upgrade", upgrades_itself=True)
    file = SqliteFile(home / "prefect.db", "Prefect's database", "the pages of earlier runs", schema)
    if OTHER_DATABASES.isdisjoint(os.environ) and file.is_made():
        file.prove_writable()


def _loss_of(address: str, server: "subprocess.Popen[bytes]", log_file: Path) -> Loss:
    """Return what says, in a sentence, that a server has ended, or answers no more."""
    heard = time.monotonic()

    def loss() -> str | None:
        nonlocal heard
        code = server.poll()
        if code is not None:
            how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        else:
            heard = time.monotonic() if reachable(address, seconds=1.0) else heard
            if time.monotonic() - heard < SECONDS_OF_SILENCE:
                return None
            how = f"has not answered for {SECONDS_OF_SILENCE:.0f} s"
        return f"Prefect's server of this run {how}; its log is {log_file}; run the same command again to resume"

    return loss


def reachable(address: str, seconds: float = 5.0) -> bool:
    """Return whether a server answers at an API address in so many seconds; one that asks for a key counts."""
    try:
        # A user and a password in it would be taken for part of the host name.
        health = f"{shown(address)}/health"
        with urllib.request.urlopen(health, timeout=seconds) as answer:  # noqa: S310 - the address is the user's
            # A page is of a proxy, or of a network that asks to sign in.
            return bool(answer.status == 200 and answer.headers.get_content_type() != "text/html")
    except urllib.error.HTTPError:
        return True
    except (OSError, ValueError, http.client.HTTPException):
        return False


def shown(address: str) -> str:
    """Return an address without any user and password in it."""
    return re.sub(r"//[^/]*@", "//", address)


def wait_for(answers: Callable[[], bool], servers: Sequence["subprocess.Popen[bytes]"], otherwise: str) -> None:
    """Wait until a server answers; the end of any, or two minutes without an answer, is an error with a sentence."""
    deadline = time.monotonic() + SECONDS_TO_START
    while not answers():
        if any(server.poll() is not None for server in servers) or time.monotonic() > deadline:
            raise TucanoError(otherwise)
        time.sleep(0.1)


def _serve_prefect(port: int, *, with_pages: bool) -> None:
    # Prefect's migrations put the current folder first on the path again, and its settings are read from there.
    os.chdir("/")

    # By default every site's pages may read the answers. Prefect's own ask the server that they are from.
    os.environ |= {"PREFECT_SERVER_API_CORS_ALLOWED_ORIGINS": "", "PREFECT_SERVER_UI_API_URL": "/api"}
    # Only the server's own process needs these, which take seconds.
    import uvicorn  # noqa: PLC0415
    from prefect.server.api.server import create_app  # noqa: PLC0415

    from tasks.serve.gateway.limits import OwnPagesOnly  # noqa: PLC0415

    app = create_app(ephemeral=not with_pages, final=True)
    uvicorn.run(OwnPagesOnly(app), host=HOST, port=port, log_level="error", lifespan="on")


def _serve_mlflow(port: int, folder: Path, experiment: str) -> None:
    # As above.
    import uvicorn  # noqa: PLC0415

    from tasks.lineage.mlflow.pages import pages_of  # noqa: PLC0415
    from tasks.serve.gateway.limits import OwnPagesOnly  # noqa: PLC0415

    # MLflow's own check takes any name that begins like an address of a local network, such as 10.evil.example.
    uvicorn.run(OwnPagesOnly(pages_of(folder, experiment)), host=HOST, port=port, log_level="warning")


if __name__ == "__main__":
    collect_rarely()
    threading.Thread(target=die_with_parent, daemon=True).start()
    match sys.argv[1:]:
        case ["mlflow", port, folder, experiment]:
            _serve_mlflow(int(port), Path(folder), experiment)
        case [port, *pages]:
            _serve_prefect(int(port), with_pages=bool(pages))
