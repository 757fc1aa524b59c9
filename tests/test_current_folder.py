"""Files of the current folder that are named like libraries run in no process that this product starts."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import BaseModel

from flows.cli import main
from schemas.progress import silent
from tasks.curate.processes import in_processes
from tasks.policy import child
from tasks.policy.child import run_child

OF_PYTHON = ("html", "json", "pickle", "random", "sitecustomize", "socket", "tempfile", "typing")
OF_OTHERS = ("aiosqlite", "prefect", "torch", "uvicorn")


class Request(BaseModel):
    do: str = "work"


@pytest.fixture
def marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work where such files are planted, and return the file that each of them would write."""
    folder, marker = tmp_path / "planted", tmp_path / "marker"
    folder.mkdir()
    for name in (*OF_PYTHON, *OF_OTHERS):
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
    # Prefect's migrations, which other tests run in this process and a command does not, add it to the path.
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != "."])
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


SETTINGS = """
from pathlib import Path
from flows.runtime.session import configure_prefect
configure_prefect(Path("state"))
from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, get_current_settings, temporary_settings
for changed in ({}, {PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
    with temporary_settings(changed):
        settings = get_current_settings()
        print(settings.logging.config_path.name, settings.tasks.default_retries, settings.flows.default_retries)
"""


def test_prefects_settings_are_of_no_file_there(tmp_path: Path) -> None:
    files = {
        "prefect.toml": '[logging]\nconfig_path = "evil.yml"\n[tasks]\ndefault_retries = 7\n',
        "pyproject.toml": "[tool.prefect.flows]\ndefault_retries = 7\n",
        ".env": "PREFECT_TASKS_DEFAULT_RETRIES=7\nPREFECT_LOGGING_SETTINGS_PATH=evil.yml\n",
    }
    for file, content in files.items():
        (tmp_path / file).write_text(content, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    asked = [sys.executable, "-P", "-c", SETTINGS]
    ended = subprocess.run(asked, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ended.stdout.splitlines() == ["logging.yml 0 0"] * 2, ended.stderr[-500:]
