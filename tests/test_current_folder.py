"""Files of the current folder that are named like libraries run in no process that this product starts."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import BaseModel

from flows.cli import main
from flows.runtime.prefect_server import session_server
from schemas.progress import silent
from tasks.curate.processes import in_processes
from tasks.policy import child
from tasks.policy.child import run_child
from tests.prefect_server import PlaceDatabase

NAMES = (
    "aiosqlite",
    "html",
    "json",
    "pickle",
    "prefect",
    "random",
    "sitecustomize",
    "socket",
    "tempfile",
    "torch",
    "typing",
    "uvicorn",
)


class Request(BaseModel):
    do: str = "work"


@pytest.fixture
def marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work where such files are planted, and return the file that each of them would write."""
    folder, marker = tmp_path / "planted", tmp_path / "marker"
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.py").write_text(f"open({str(marker)!r}, 'a').write(__name__ + ' ')\nraise ImportError\n")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONSAFEPATH", "")
    # An empty entry names the current folder too.
    monkeypatch.setenv("PYTHONPATH", os.pathsep)
    return marker


def test_python_m_flows_runs_none(marker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Python itself reads it before any line of ours.
    monkeypatch.delenv("PYTHONPATH")
    ended = subprocess.run([sys.executable, "-m", "flows", "--version"], capture_output=True, text=True, check=False)
    assert not marker.exists(), marker.read_text()
    assert ended.stdout.startswith("tucano ")


def test_workers_of_multiprocessing_run_none_below_the_command(marker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["tucano", "--version"])
    with pytest.raises(SystemExit):
        main()
    assert list(in_processes(2)(math.sqrt, [1.0, 4.0])) == [1.0, 2.0]
    assert not marker.exists(), marker.read_text()


@pytest.mark.integration
@pytest.mark.parametrize("prefix", ["nothing", "tests."], ids=["process", "fork"])
def test_children_run_none(prefix: str, marker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "MAY_FORK", prefix)
    run_child("tests.tasks.policy.example_child", Request(), marker.parent, interpreter=None, progress=silent)
    assert not marker.exists(), marker.read_text()


@pytest.mark.integration
def test_prefects_server_runs_none(marker: Path, monkeypatch: pytest.MonkeyPatch, prefect_home: PlaceDatabase) -> None:
    monkeypatch.setenv("PREFECT_HOME", str(prefect_home(marker.parent / "home")))
    with session_server(marker.parent / "log"):
        pass
    assert not marker.exists(), marker.read_text()
