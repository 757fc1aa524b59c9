"""One Prefect server for tests whose commands would each start their own, and new databases that have their tables.

To make the tables, Prefect applies its migrations of four years, which takes ten seconds, and MLflow over a second.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from flows.runtime.prefect_server import session_server
from tasks.lineage.mlflow import client

PlaceDatabase = Callable[[Path], Path]
DATABASE = "prefect.db"


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder that the first of several processes of tests fills for all of them."""
    base = factory.getbasetemp()
    made = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with FileLock(made.with_suffix(".lock")):
        if not made.exists():
            new = made.with_suffix(".new")
            new.mkdir()
            make(new)
            new.rename(made)
    return made


@pytest.fixture(scope="module")
def mlflow_tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have a module's new databases begin with a copy of the tables; not where their making is what is tested."""
    prepare = client._prepare

    def make(folder: Path) -> None:
        from mlflow.db import upgrade

        assert upgrade.callback is not None
        upgrade.callback(f"sqlite:///{folder / 'mlflow.db'}")

    def prepare_with_tables(file: Path, unfinished: Path) -> None:
        prepare(file, unfinished)
        if not file.stat().st_size:
            shutil.copyfile(made_once(tmp_path_factory, "mlflow-tables", make) / "mlflow.db", file)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "_prepare", prepare_with_tables)
        yield


@pytest.fixture(scope="session")
def prefect_home(tmp_path_factory: pytest.TempPathFactory) -> PlaceDatabase:
    """Return a function that makes a folder a home of Prefect whose database is new and has all its tables."""

    def make(home: Path) -> None:
        command = [sys.executable, "-m", "prefect", "server", "database", "upgrade", "--yes"]
        subprocess.run(command, env={**os.environ, "PREFECT_HOME": str(home)}, check=True, capture_output=True)

    made = made_once(tmp_path_factory, "prefect-database", make)

    def place(home: Path) -> Path:
        home.mkdir(parents=True, exist_ok=True)
        for file in made.glob(f"{DATABASE}*"):
            shutil.copy(file, home)
        return home

    return place


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory, prefect_home: PlaceDatabase) -> Iterator[str]:
    """Give the server's API address, for PREFECT_API_URL."""
    home = prefect_home(tmp_path_factory.mktemp("prefect"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PREFECT_HOME", str(home))
        patch.setenv("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
        patch.setenv("DO_NOT_TRACK", "1")
        # What a user's environment may say, and what the server must not do.
        patch.setenv("PREFECT_SERVER_CORS_ALLOWED_ORIGINS", "*")
        with session_server(home / "server.log") as address:
            yield address
