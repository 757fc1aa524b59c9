"""A real PostgreSQL for tests, where one is installed: on loopback, without a password, gone at the end."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.house import free_port

# It refuses to run as root.
USER = "postgres"


@contextmanager
def postgresql(databases: tuple[str, ...]) -> Iterator[str]:
    """Start a cluster with some databases, and give its address, `USER@HOST:PORT`, as every driver's begins."""
    if shutil.which("initdb") is None or shutil.which("pg_ctl") is None:
        pytest.skip("PostgreSQL is not installed")
    as_root = os.geteuid() == 0
    # Not where the tests' own files are: another user could not reach it there.
    home = Path(tempfile.mkdtemp(prefix="postgresql-"))
    if as_root:
        shutil.chown(home, USER)

    def run(*command: str) -> None:
        subprocess.run(command, check=True, cwd=home, stdout=subprocess.DEVNULL, user=USER if as_root else None)

    port = free_port()
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={home}"
    run("initdb", "--pgdata", str(home / "data"), "--username", USER, "--auth", "trust", "--encoding", "UTF8")
    run("pg_ctl", "--pgdata", str(home / "data"), "--log", str(home / "log"), "--options", options, "--wait", "start")
    try:
        for database in databases:
            run("createdb", "--host", "127.0.0.1", "--port", str(port), "--username", USER, database)
        yield f"{USER}@127.0.0.1:{port}"
    finally:
        run("pg_ctl", "--pgdata", str(home / "data"), "--mode", "immediate", "--wait", "stop")
        shutil.rmtree(home)
