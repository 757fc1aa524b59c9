"""Command `tucano serve`: the champion behind HTTP, started again where it is killed."""

import json
import os
import signal
import socket
import threading
import time
from typing import Annotated, Final

import typer

from flows.cli.options import Overrides, Profile, StateFolder, configured
from flows.runtime.console import show
from flows.runtime.session import mlflow_store
from schemas.config.serve import ServeConfig
from schemas.errors import InputError, Interrupted
from tasks.lineage.mlflow.client import local_rows

BACKLOG: Final = 512
"""Connections that wait while the gateway is started again."""
FIRST_WAIT: Final = 0.5
LONGEST_WAIT: Final = 15.0
SECONDS_OF_A_GOOD_START: Final = 60.0


def serve(
    version: Annotated[
        str | None, typer.Option(metavar="N", help="Serve this version and no other; the champion if not given.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="The port to listen on; serve.port if not given.")
    ] = None,
    host: Annotated[
        str | None, typer.Option(help="The address to listen on; serve.host, which is this machine, if not given.")
    ] = None,
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
) -> None:
    """Serve the champion over HTTP: OpenAI's API, and a path for each task; a new one takes over by itself."""
    named = {"serve.port": port, "serve.host": host}
    chosen = [f"{key}={json.dumps(value)}" for key, value in named.items() if value is not None]
    config = configured(profile, [*overrides, *chosen], state)
    # Before the one that watches begins: it would start the gateway again and again.
    local_rows(mlflow_store(config.state)[0], "SELECT 1")
    with _listen(config.serve) as listening:
        if not _keep_running():
            # Torch, transformers and MLflow take seconds to import, and the process that watches needs none of them.
            from tasks.policy.fork_server import load_less  # noqa: PLC0415

            load_less()
            from flows.stages.gateway import run_gateway  # noqa: PLC0415

            run_gateway(config, version, listening)


def _listen(config: ServeConfig) -> socket.socket:
    """Take the address, which stays open while the gateway is started again."""
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((config.host, config.port))
    except OSError as error:
        listening.close()
        raise InputError(
            f"port {config.port} of {config.host} cannot be used ({error.strerror}); end what uses it, or choose "
            "another with --port PORT"
        ) from None
    listening.listen(BACKLOG)
    listening.set_inheritable(True)
    return listening


def _keep_running() -> bool:
    """Fork the gateway, and start it again whenever it is killed; returns False in the gateway, and True at the end.

    Raises:
        typer.Exit: The gateway ended by itself, with its exit code.
    """
    asked_to_end = threading.Event()
    wait = FIRST_WAIT
    while True:
        began = time.monotonic()
        forked = _fork()
        if forked is None:
            return False
        child, pipe = forked

        def pass_on(*_: object, child: int = child) -> None:
            asked_to_end.set()
            os.kill(child, signal.SIGTERM)

        before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
        _, status = os.waitpid(child, os.WUNTRACED)
        while os.WIFSTOPPED(status):
            show("the gateway was stopped by a signal, and goes on")
            os.kill(child, signal.SIGCONT)
            _, status = os.waitpid(child, os.WUNTRACED)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(pipe)
        code = os.waitstatus_to_exitcode(status)
        if code >= 0 and code != Interrupted.exit_code:
            if code:
                raise typer.Exit(code)
            return True
        if asked_to_end.is_set():
            return True
        wait = FIRST_WAIT if time.monotonic() - began > SECONDS_OF_A_GOOD_START else min(2 * wait, LONGEST_WAIT)
        show(f"the gateway was killed; it is started again in {wait:g} s")
        time.sleep(wait)


def _fork() -> tuple[int, int] | None:
    """Return the number of a new process and the pipe whose end it ends with; None in that process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(reading)
        return child, writing
    os.close(writing)
    # Ctrl-C on a terminal reaches the one that watches, which asks this one to end.
    os.setsid()
    from tasks.policy.child import die_with_parent  # noqa: PLC0415

    threading.Thread(target=die_with_parent, args=[os.fdopen(reading)], daemon=True).start()
    return None
