"""A session holds its state folder alone, proves that it can be written, and leaves no server behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from filelock import FileLock

from flows.server import session_server
from flows.session import LOCK_FILE, session
from schemas.config import Config
from schemas.errors import InputError
from schemas.profiles import load_config


def _config(root: Path) -> Config:
    return load_config("local", [f"state.root={root}"])


def test_a_second_session_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    with (
        FileLock(tmp_path / LOCK_FILE),
        pytest.raises(InputError, match="another tucano is at work in the state folder"),
        session(_config(tmp_path), bytes_needed=0),
    ):
        pass


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder", encoding="utf-8")
    with (
        pytest.raises(InputError, match=r"file/state cannot be written .*--set state\.root=FOLDER"),
        session(_config(tmp_path / "file" / "state"), bytes_needed=0),
    ):
        pass


def test_a_nearly_full_disk_is_refused_before_work_starts(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="GB free and the run needs"), session(_config(tmp_path), bytes_needed=10**18):
        pass
    assert not (tmp_path / "prefect").exists()


@pytest.mark.integration
def test_the_session_server_ends_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    """Prefect's own temporary server outlives its parent's SIGKILL."""
    program = (
        "import time\n"
        "from pathlib import Path\n"
        "from flows.server import session_server\n"
        f"with session_server(Path({str(tmp_path / 'log')!r})) as address:\n"
        f"    Path({str(tmp_path / 'address')!r}).write_text(address)\n"
        "    time.sleep(600)\n"
    )
    environment = {**os.environ, "PREFECT_HOME": str(tmp_path / "home")}
    parent = subprocess.Popen([sys.executable, "-c", program], env=environment)
    while not (tmp_path / "address").exists():
        assert parent.poll() is None
        time.sleep(0.1)
    servers = psutil.Process(parent.pid).children(recursive=True)
    assert servers
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    _, alive = psutil.wait_procs(servers, timeout=20)
    assert not alive


@pytest.mark.integration
def test_the_session_server_ends_with_its_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "home"))
    # Worker processes of other tests leave Python's own resource tracker behind.
    before = set(psutil.Process().children())
    with session_server(tmp_path / "log"):
        servers = set(psutil.Process().children()) - before
        assert servers
    _, alive = psutil.wait_procs(servers, timeout=1)
    assert not alive
