"""A session holds its state folder alone, proves that it can be written, and leaves no server behind."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, nullcontext
from pathlib import Path

import httpx
import psutil
import pytest
from filelock import FileLock

from flows.runtime import session as module
from flows.runtime.prefect_server import REVISIONS, prove_prefect_usable, reachable
from flows.runtime.session import LOCK_FILE, UI_FILE, UI_LOCK, private_files, running_server, session, state_folder
from schemas import sqlite_file
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.errors import InputError, Interrupted
from schemas.sqlite_file import InUse, Schema
from schemas.timeouts import COMMAND_SECONDS
from tests.answering_server import answering
from tests.prefect_server import PlaceDatabase


def _config(root: Path) -> Config:
    return load_config("local", [f"state.root={root}"])


def test_a_second_session_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    with (
        FileLock(tmp_path / LOCK_FILE),
        pytest.raises(InputError, match="another tucano is at work in the state folder"),
        session(_config(tmp_path), bytes_needed=0),
    ):
        pass


@pytest.mark.parametrize(
    ("revision", "statement", "error"),
    [("abc123", "SELECT 1", InputError), (None, "BEGIN EXCLUSIVE", InUse), (None, "SELECT 1", None)],
)
def test_prefect_s_database_is_asked_before_a_server_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, revision: str | None, statement: str, error: type[Exception] | None
) -> None:
    monkeypatch.setattr(sqlite_file, "SECONDS_TO_WAIT", 0)
    prove_prefect_usable(tmp_path)
    known = min(Schema("prefect", REVISIONS, "", upgrades_itself=True).revisions()[1])
    with closing(sqlite3.connect(tmp_path / "prefect.db", isolation_level=None)) as database:
        database.execute("CREATE TABLE alembic_version (version_num TEXT)")
        # An older one is upgraded by Prefect itself.
        database.execute("INSERT INTO alembic_version VALUES (?)", [revision or known])
        database.execute(statement)
        with nullcontext() if error is None else pytest.raises(error, match="Prefect's database"):
            prove_prefect_usable(tmp_path)
        monkeypatch.setenv("PREFECT_API_DATABASE_CONNECTION_URL", "postgresql+asyncpg://elsewhere/prefect")
        prove_prefect_usable(tmp_path)


def test_a_signal_while_a_database_is_waited_for_ends_a_session_in_its_own_words(tmp_path: Path) -> None:
    (tmp_path / "mlflow").mkdir()
    with closing(sqlite3.connect(tmp_path / "mlflow" / "mlflow.db", isolation_level=None)) as holder:
        holder.execute("CREATE TABLE held (number INTEGER)")
        holder.execute("BEGIN EXCLUSIVE")
        began = time.monotonic()
        threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGTERM]).start()
        with pytest.raises(Interrupted, match="resume from here"), session(_config(tmp_path), bytes_needed=0):
            pass
    assert time.monotonic() - began < 10


def test_a_page_in_place_of_prefect_s_server_is_no_server() -> None:
    with answering({"/api/health": (200, "true")}) as server:
        assert reachable(f"{server.url}/api")
    with answering({"/api/health": (200, "<html>")}, kind="text/html") as server:
        assert not reachable(f"{server.url}/api")


def test_a_nearly_full_disk_is_refused_before_work_starts(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="MB free and the run needs"), session(_config(tmp_path), bytes_needed=10**18):
        pass
    assert not (tmp_path / "prefect").exists()


def test_a_killed_ui_is_no_server_even_if_another_folders_server_has_its_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "reachable", lambda _: True)
    served = {"prefect_api": "http://127.0.0.1:4200/api", "mlflow": "http://127.0.0.1:5000"}
    (tmp_path / UI_FILE).write_text(json.dumps(served), encoding="utf-8")
    assert running_server(tmp_path) is None
    with FileLock(tmp_path / UI_LOCK):
        assert running_server(tmp_path) == "http://127.0.0.1:4200/api"


@pytest.mark.integration
def test_a_server_that_is_away_or_takes_no_key_is_reported_before_work_starts_without_a_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusal(address: str) -> str:
        monkeypatch.setenv("PREFECT_API_URL", address)
        with pytest.raises(InputError) as refused, session(_config(tmp_path), bytes_needed=0):
            pass
        return str(refused.value)

    with answering({"/api/health": (200, "true"), "/api/flows/filter": (401, "")}) as server:
        assert "asks for a key, and takes none that is set (401)" in refusal(f"{server.url}/api")
    away = refusal("http://admin:se@cret@127.0.0.1:9/api")
    assert away.startswith("no Prefect server answers at PREFECT_API_URL=http://127.0.0.1:9/api;")


@pytest.mark.integration
@pytest.mark.parametrize("then", ["nothing", "SIGTERM"])
def test_a_killed_server_ends_the_run_with_one_sentence(then: str, tmp_path: Path, prefect_home: PlaceDatabase) -> None:
    """Prefect's client would try for minutes, and end in a traceback; so too where SIGTERM comes meanwhile."""
    prefect_home(tmp_path / "state" / "prefect")
    program = (
        "import sys\n"
        "from flows.cli.tucano import _end\n"
        "from flows.runtime.session import recorded, session\n"
        "from schemas.config.profiles import load_config\n"
        "from schemas.errors import TucanoError\n"
        f"config = load_config('local', ['state.root={tmp_path / 'state'}'])\n"
        "try:\n"
        "    with session(config, bytes_needed=0), recorded(config):\n"
        "        from prefect.client.orchestration import get_client\n"
        "        print('ready', flush=True)\n"
        "        with get_client(sync_client=True) as client:\n"
        "            while True:\n"
        "                client.read_flows(limit=1)\n"
        "except TucanoError as error:\n"
        "    _end(error)\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_API")}
    run = subprocess.Popen(
        [sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    assert run.stdout.readline() == "ready\n"
    (server,) = psutil.Process(run.pid).children()
    server.kill()
    if then == "SIGTERM":
        run.terminate()
    began = time.monotonic()
    _, said = run.communicate(timeout=60)
    assert run.returncode == Interrupted.exit_code, said
    assert time.monotonic() - began < COMMAND_SECONDS
    assert said.startswith("tucano: ")
    assert "run the same command again to resume" in " ".join(said.split())
    assert then == "SIGTERM" or f"killed by SIGKILL; its log is {tmp_path / 'state' / 'prefect.log'}" in said


def test_a_server_of_somebody_elses_that_goes_away_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that `tucano ui` serves does when it is ended, or when its port is another program's."""
    answers = {"/api/health": (200, "true"), "/api/flows/filter": (200, "[]"), "/api/admin/version": (200, '"3"')}
    with answering(answers) as server:
        monkeypatch.setenv("PREFECT_API_URL", f"{server.url}/api")
        with (
            pytest.raises(Interrupted, match=f"the Prefect server at {server.url}/api .* run the same command again"),
            session(_config(tmp_path), bytes_needed=0),
        ):
            httpx.get(f"{server.url}/api/flow_runs/").raise_for_status()
        with pytest.raises(httpx.HTTPStatusError), session(_config(tmp_path), bytes_needed=0):
            httpx.get(f"{server.url}/another").raise_for_status()


def test_files_of_a_state_folder_are_the_users_alone(tmp_path: Path) -> None:
    root = tmp_path / "state"
    root.mkdir(mode=0o755)
    root.chmod(0o755)
    before = os.umask(0o022)
    try:
        with state_folder(_config(root), bytes_needed=0):
            (root / "file").touch()
            subprocess.run([sys.executable, "-c", f"import os; os.makedirs({str(root / 'a' / 'b')!r})"], check=True)
        (tmp_path / "outside").touch()
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (root, *root.rglob("*"), tmp_path / "outside")}
    assert modes == {"state": 0o700, LOCK_FILE: 0o600, "file": 0o600, "a": 0o700, "b": 0o700, "outside": 0o644}


def test_a_folder_of_the_system_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    with private_files(tmp_path):
        assert tmp_path.stat().st_mode & 0o7777 == 0o1777


@pytest.mark.parametrize("name", ["mirror", "artifacts"])
def test_files_of_a_mirror_that_others_may_share_have_the_modes_that_the_user_wants(tmp_path: Path, name: str) -> None:
    config = load_config("local", [f"state.root='{tmp_path / 'state'}'", f"state.{name}='{tmp_path / 'shared'}'"])
    before = os.umask(0o027)
    try:
        with state_folder(config, bytes_needed=0):
            (tmp_path / "file").touch()
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
