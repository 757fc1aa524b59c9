"""Local pages of Prefect and MLflow, on loopback, for the state folder."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from filelock import FileLock, Timeout

from flows.runtime.console import say
from flows.runtime.prefect_server import prove_prefect_usable
from flows.runtime.session import (
    EXPERIMENT,
    UI_FILE,
    UI_LOCK,
    Pages,
    configure_prefect,
    disk_full_errors,
    private_files,
    prove_writable,
    running_server,
)
from flows.runtime.signals import continue_stopped, sigterm_as_ctrl_c
from schemas.errors import InputError, TucanoError
from schemas.safe_path import safe_environment
from tasks.lineage.mlflow.client import SQLITE_PREFIX, prove_usable
from tasks.lineage.mlflow.pages import DATABASE
from tasks.lineage.mlflow.runs import RETRAININGS
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
    serve(root, prefect_port, mlflow_port)


def serve(root: Path, prefect_port: int, mlflow_port: int) -> None:
    """Serve both pages until Ctrl-C.

    Raises:
        InputError: There is no state folder yet, it or a database cannot be written, or a port is taken.
        InUse: Another process holds a database.
        TucanoError: A server did not start.
    """
    if not root.is_dir():
        raise InputError(f"there is no state folder {root}; run `tucano retrain` first, or name another with --state")
    prove_writable(root)
    with private_files(root), _alone(root), disk_full_errors(root):
        _serve(root, prefect_port, mlflow_port)


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Hold the pages of a state folder; the system lets go of the lock however the process ends."""
    lock = FileLock(root / UI_LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        where = running_server(root)
        shown = f" at {where.removesuffix('/api')}" if where else ""
        raise InputError(
            f"another `tucano ui` serves the state folder {root}{shown}; use that, or end it with Ctrl-C first"
        ) from None
    try:
        yield
    finally:
        lock.release()


def _serve(root: Path, prefect_port: int, mlflow_port: int) -> None:
    for option, port in (("--prefect-port", prefect_port), ("--mlflow-port", mlflow_port)):
        _check_port(option, port)
    if prefect_port == mlflow_port:
        raise InputError(f"--prefect-port and --mlflow-port are both {mlflow_port}; choose two ports")
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
        "prefect": ("flows.runtime.prefect_server", str(prefect_port), str(mlflow_port)),
        "mlflow": ("flows.runtime.mlflow_server", str(mlflow_home), str(mlflow_port), EXPERIMENT),
    }
    servers: list[subprocess.Popen[bytes]] = []
    try:
        # Before this, a signal ends the command as any other.
        with sigterm_as_ctrl_c():
            for name, command in commands.items():
                servers.append(_start(command, root / f"{name}.log"))
            pages = Pages(prefect_api=address, mlflow=f"http://{HOST}:{mlflow_port}")
            file.write_text(json.dumps(asdict(pages)), encoding="utf-8")
            _wait_for(servers, (prefect_port, mlflow_port), root)
            say(f"Prefect: http://{HOST}:{prefect_port}")
            say(f"MLflow:  {pages.mlflow}/{RETRAININGS}")
            say("Ctrl-C ends both; a `tucano retrain` started meanwhile is shown live")
            while all(server.poll() is None for server in servers):
                continue_stopped()
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


def _start(command: Sequence[str], log_file: Path) -> "subprocess.Popen[bytes]":
    with log_file.open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", *command],
            # Its end shows a server that this process is gone, however it ended.
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env={**safe_environment(), "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false"},
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
