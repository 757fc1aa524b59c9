"""One Prefect server for tests whose commands would each start their own, and a new database for those that must."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from flows.runtime.prefect_server import session_server

PlaceDatabase = Callable[[Path], Path]
DATABASE = "prefect.db"


@pytest.fixture(scope="session")
def prefect_home(tmp_path_factory: pytest.TempPathFactory) -> PlaceDatabase:
    """Return a function that makes a folder a home of Prefect whose database is new and has all its tables.

    To make the tables, Prefect applies its migrations of four years, which takes ten seconds for each new folder.
    """
    folder = tmp_path_factory.getbasetemp()
    # Several processes of tests share the folder above theirs.
    made = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "prefect-database"
    with FileLock(made.with_suffix(".lock")):
        if not (made / DATABASE).exists():
            home = tmp_path_factory.mktemp("migrated")
            subprocess.run(
                [sys.executable, "-m", "prefect", "server", "database", "upgrade", "--yes"],
                env={**os.environ, "PREFECT_HOME": str(home)},
                check=True,
                capture_output=True,
            )
            shutil.move(home, made)

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
