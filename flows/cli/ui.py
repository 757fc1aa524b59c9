"""Local pages of Prefect and MLflow, on loopback, for the state folder."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from flows.runtime.console import say
from flows.runtime.session import UI_FILE, configure_prefect
from flows.runtime.signals import sigterm_as_ctrl_c
from schemas.errors import InputError, TucanoError
from tasks.policy.child import end_group

HOST = "127.0.0.1"
SECONDS_TO_START = 90
SECONDS_TO_END = 10


def ui(
    root: Annotated[Path, typer.Option("--state", "--root", metavar="FOLDER", help="The state folder.")] = Path(
        ".tucano"
    ),
    prefect_port: Annotated[int, typer.Option(min=1, max=65535)] = 4200,
    mlflow_port: Annotated[int, typer.Option(min=1, max=65535)] = 5000,
) -> None:
    """Serve Prefect's and MLflow's pages on loopback, until Ctrl-C."""
    with sigterm_as_ctrl_c():
        serve(root, prefect_port, mlflow_port)


def serve(root: Path, prefect_port: int, mlflow_port: int) -> None:
    """Serve both pages until Ctrl-C.

    Raises:
        InputError: There is no state folder yet, or a port is taken.
        TucanoError: A server did not start.
    """
    if not root.is_dir():
        raise InputError(f"there is no state folder {root} yet; run `make retrain` first, or name another with --state")
    for option, port in (("--prefect-port", prefect_port), ("--mlflow-port", mlflow_port)):
        _check_port(option, port)
    configure_prefect(root)
    mlflow_home = (root / "mlflow").resolve()
    mlflow_home.mkdir(exist_ok=True)
    address = f"http://{HOST}:{prefect_port}/api"
    commands = {
        "prefect": ("-m", "prefect", "server", "start", "--host", HOST, "--port", str(prefect_port)),
        "mlflow": (
            *("-m", "mlflow", "server", "--host", HOST, "--port", str(mlflow_port), "--workers", "1"),
            *("--backend-store-uri", f"sqlite:///{mlflow_home / 'mlflow.db'}"),
            *("--default-artifact-root", str(mlflow_home / "artifacts"), "--serve-artifacts"),
            *("--artifacts-destination", str(mlflow_home / "artifacts")),
        ),
    }
    servers: list[subprocess.Popen[bytes]] = []
    file = root / UI_FILE
    try:
        for name, command in commands.items():
            servers.append(_start(command, root / f"{name}.log"))
        file.write_text(json.dumps({"prefect_api": address}), encoding="utf-8")
        _wait_for(servers, (prefect_port, mlflow_port), root)
        say(f"Prefect: http://{HOST}:{prefect_port}")
        say(f"MLflow:  http://{HOST}:{mlflow_port}")
        say("Ctrl-C ends both; a `tucano retrain` started meanwhile is shown live")
        while all(server.poll() is None for server in servers):
            time.sleep(0.5)
        raise TucanoError(f"a server ended by itself; its log is {root / 'prefect.log'} or {root / 'mlflow.log'}")
    except KeyboardInterrupt:
        say("ending both servers")
    finally:
        file.unlink(missing_ok=True)
        for server in servers:
            end_group(server, SECONDS_TO_END)


def _check_port(option: str, port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise InputError(
                f"port {port} cannot be used ({error.strerror}); end what uses it, or choose another with {option} PORT"
            ) from None


def _start(arguments: Sequence[str], log_file: Path) -> "subprocess.Popen[bytes]":
    with log_file.open("ab") as log:
        return subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false", "MLFLOW_DISABLE_TELEMETRY": "true"},
            start_new_session=True,
        )


def _wait_for(servers: Sequence["subprocess.Popen[bytes]"], ports: Sequence[int], root: Path) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    waiting = list(ports)
    while waiting:
        if any(server.poll() is not None for server in servers) or time.monotonic() > deadline:
            raise TucanoError(f"a server did not start; its log is {root / 'prefect.log'} or {root / 'mlflow.log'}")
        waiting = [port for port in waiting if not _answers(port)]
        time.sleep(0.3)


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((HOST, port)) == 0
