"""Commands `tucano serve` and `ui`: the champion behind HTTP, and the local pages of Prefect and MLflow."""

import json
import os
import signal
import socket
import subprocess
import threading
import time
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer
from filelock import FileLock, Timeout

from flows.cli.tucano import Overrides, Profile, StateFolder, configured
from flows.runtime.console import say, show
from flows.runtime.prefect_server import HOST, prove_prefect_usable, start_server, wait_for
from flows.runtime.session import (
    EXPERIMENT,
    UI_FILE,
    UI_LOCK,
    configure_prefect,
    disk_full_errors,
    existing_store,
    mlflow_store,
    private_files,
    prove_writable,
    running_server,
)
from flows.runtime.signals import continue_stopped, handle_signals, raise_interrupt
from schemas.errors import InputError, Interrupted, TucanoError
from tasks.lineage.mlflow.client import SQLITE_PREFIX, local_rows, prove_usable
from tasks.lineage.mlflow.pages import DATABASE
from tasks.lineage.mlflow.recorder import RETRAININGS
from tasks.policy.child import end_group


def ui(
    root: Annotated[Path, typer.Option("--state", "--root", metavar="FOLDER", help="State folder.")] = Path(".tucano"),
    prefect_port: Annotated[int, typer.Option(min=1, max=65535)] = 4200,
    mlflow_port: Annotated[int, typer.Option(min=1, max=65535)] = 5000,
) -> None:
    """Serve Prefect's and MLflow's pages on loopback, until Ctrl-C."""
    if not root.is_dir():
        raise InputError(f"there is no state folder {root}; run `tucano retrain` first, or name another with --state")
    if prefect_port == mlflow_port:
        raise InputError(f"--prefect-port and --mlflow-port are both {mlflow_port}; choose two ports")
    prove_writable(root)
    try:
        # The system lets go of the lock however the process ends.
        with private_files(root), FileLock(root / UI_LOCK, timeout=0), disk_full_errors(root):
            _serve(root, prefect_port, mlflow_port)
    except Timeout:
        where = running_server(root)
        at = f" at {where.removesuffix('/api')}" if where else ""
        raise InputError(
            f"another `tucano ui` serves the state folder {root}{at}; use that, or end it with Ctrl-C first"
        ) from None


def _serve(root: Path, prefect_port: int, mlflow_port: int) -> None:
    for option, port in (("--prefect-port", prefect_port), ("--mlflow-port", mlflow_port)):
        bind(HOST, port, option).close()
    file = root / UI_FILE
    # One that a kill left behind would be taken for ours.
    file.unlink(missing_ok=True)
    configure_prefect(root)
    mlflow_home = (root / "mlflow").resolve()
    mlflow_home.mkdir(exist_ok=True)
    prove_prefect_usable(Path(os.environ["PREFECT_HOME"]))
    prove_usable(f"{SQLITE_PREFIX}{mlflow_home / DATABASE}")
    address = f"http://{HOST}:{prefect_port}/api"
    commands = {
        "prefect": ("flows.runtime.prefect_server", str(prefect_port), "pages"),
        "mlflow": ("flows.runtime.prefect_server", "mlflow", str(mlflow_port), str(mlflow_home), EXPERIMENT),
    }
    where = f"its log is {root / 'prefect.log'} or {root / 'mlflow.log'}"
    settings, servers = {"PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false"}, list[subprocess.Popen[bytes]]()
    try:
        # Before this, a signal ends the command as any other.
        with handle_signals(raise_interrupt):
            for name, command in commands.items():
                servers.append(start_server(command, root / f"{name}.log", settings))
            mlflow = f"http://{HOST}:{mlflow_port}"
            file.write_text(json.dumps({"prefect_api": address, "mlflow": mlflow}), encoding="utf-8")
            for port in (prefect_port, mlflow_port):
                wait_for(partial(_answers, port), servers, f"a server did not start; {where}")
            say(f"Prefect: http://{HOST}:{prefect_port}")
            say(f"MLflow:  {mlflow}/{RETRAININGS}")
            say("Ctrl-C ends both; a `tucano retrain` started meanwhile is shown live")
            while all(server.poll() is None for server in servers):
                continue_stopped()
                time.sleep(0.5)
            raise TucanoError(f"a server ended by itself; {where}")
    except KeyboardInterrupt:
        say("ending both servers")
    finally:
        file.unlink(missing_ok=True)
        for server in servers:
            end_group(server, 10)


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((HOST, port)) == 0


BACKLOG: Final = 512
"""Connections that wait while the gateway is started again."""
FIRST_WAIT: Final = 0.5
LONGEST_WAIT: Final = 15.0
SECONDS_OF_A_GOOD_START: Final = 60.0


def serve(
    version: Annotated[str | None, typer.Option(metavar="N", help="Serve this version and no other.")] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port; serve.port if not given.")] = None,
    host: Annotated[str | None, typer.Option(help="Address; serve.host if not given.")] = None,
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
) -> None:
    """Serve the champion over HTTP: a page to try it, OpenAI's API, and a path for each task."""
    named = {"serve.port": port, "serve.host": host}
    chosen = [f"{key}={json.dumps(value)}" for key, value in named.items() if value is not None]
    config = configured(profile, [*overrides, *chosen], state)
    # Before the one that watches begins: it would start the gateway again and again.
    existing_store(config, "no model is there that could answer")
    local_rows(mlflow_store(config.state)[0], "SELECT 1")
    with bind(config.serve.host, config.serve.port, "--port") as listening:
        # It stays open while the gateway is started again.
        listening.listen(BACKLOG)
        listening.set_inheritable(True)
        if not _keep_running():
            # Torch, transformers and MLflow take seconds to import, and the process that watches needs none of them.
            from tasks.policy.fork_server import load_less  # noqa: PLC0415

            load_less()
            from flows.stages.gateway import run_gateway  # noqa: PLC0415

            run_gateway(config, version, listening)


def bind(host: str, port: int, option: str) -> socket.socket:
    """Take an address; one that is taken, or none of this machine's, is refused."""
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise InputError(
            f"port {port} of {host} cannot be used ({error.strerror}); end what uses it, or choose another with "
            f"{option} PORT"
        ) from None
    return bound


def _keep_running() -> bool:
    """Fork the gateway, and start it again whenever it is killed; returns False in the gateway, and True at the end."""
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

        with handle_signals(pass_on):
            _, status = os.waitpid(child, os.WUNTRACED)
            while os.WIFSTOPPED(status):
                show("the gateway was stopped by a signal, and goes on")
                os.kill(child, signal.SIGCONT)
                _, status = os.waitpid(child, os.WUNTRACED)
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
    if child := os.fork():
        os.close(reading)
        return child, writing
    os.close(writing)
    # Ctrl-C on a terminal reaches the one that watches, which asks this one to end.
    os.setsid()
    from tasks.policy.child import die_with_parent  # noqa: PLC0415

    threading.Thread(target=die_with_parent, args=[os.fdopen(reading)], daemon=True).start()
    return None
