"""The command that serves both pages: once for each state folder, on two ports that are free."""

import socket
from pathlib import Path

import pytest
from filelock import FileLock

from flows.cli import servers
from flows.runtime.session import UI_LOCK
from schemas.errors import InputError
from tests.house import free_port


def test_a_second_one_of_the_same_folder_is_refused_with_the_address_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        servers, "running_server", lambda root: "http://127.0.0.1:4299/api" if root == tmp_path else None
    )
    with (
        FileLock(tmp_path / UI_LOCK),
        pytest.raises(InputError, match=r"another `tucano ui` serves .* at http://127\.0\.0\.1:4299; use that"),
    ):
        servers.ui(tmp_path, free_port(), free_port())


def test_a_port_that_is_taken_is_named_with_its_option_and_the_folder_is_free_again(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port} of 127.0.0.1 cannot be used .*--mlflow-port PORT"):
            servers.ui(tmp_path, free_port(), port)
    FileLock(tmp_path / UI_LOCK).acquire(timeout=0)
