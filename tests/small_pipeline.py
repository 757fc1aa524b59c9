"""One pipeline, killed in its training and resumed, that tests look at from all sides."""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil
import pytest

from flows.runtime.session import prefect_folder
from tests.flows.command import Ended, in_this_process
from tests.flows.prefect_state import prefect_state
from tests.prefect_server import PlaceDatabase

REPOSITORY = Path(__file__).resolve().parents[1]
PROFILE = REPOSITORY / "tests" / "e2e" / "small.toml"
VERDICT_CODES = {0, 3}


def arguments(root: Path, *more: str, stage: str) -> list[str]:
    return [stage, "--profile", str(PROFILE), "--set", f"state.root={root}", "--json", *more]


def command(root: Path, *more: str, stage: str = "retrain", module: str = "flows") -> list[str]:
    return [sys.executable, "-m", module, *arguments(root, *more, stage=stage)]


def retrain(
    root: Path,
    *more: str,
    stage: str = "retrain",
    repository: Path = REPOSITORY,
    server: str | None = None,
    records: Path | None = None,
) -> Ended:
    """Run a command of the pipeline as a person does, in a process of its own.

    The command starts a Prefect server of its own, unless the address of one is given. Each child process records what
    it ran in the folder `records` (`tests.source_records`).
    """
    environment = {**os.environ, "PYTHONPATH": str(repository)}
    if server is not None:
        environment["PREFECT_API_URL"] = server
    if records is not None:
        environment["RECORD_SOURCES"] = str(records)
    ended = subprocess.run(
        command(root, *more, stage=stage, module="tests.recorded_flows" if records else "flows"),
        cwd=repository,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def retrain_here(root: Path, *more: str, server: str, stage: str = "retrain") -> Ended:
    """Run a command of the pipeline where its process is not what is tested.

    A process of its own would load Prefect and MLflow again, and for its children torch, TRL and PEFT: ten seconds.
    """
    with patch.dict(os.environ, {"PREFECT_API_URL": server}), prefect_state(server, root):
        return in_this_process(*arguments(root, *more, stage=stage))


@dataclass(frozen=True)
class Pipeline:
    """The state folder after a run that was killed in its training, and one that came to its end."""

    root: Path
    said: str
    """What the killed run wrote to stderr."""
    survivors: list[psutil.Process]
    """Children of the killed command that did not die with it."""
    resumed: Ended
    records: Path
    """Folder with a record of each child process that came to its end."""

    @property
    def document(self) -> Any:
        """What the resumed run printed, whatever its verdict."""
        return self.resumed.document(*VERDICT_CODES)


@pytest.fixture(scope="session")
def pipeline(tmp_path_factory: pytest.TempPathFactory, prefect_home: PlaceDatabase) -> Pipeline:
    root = tmp_path_factory.mktemp("state")
    prefect_home(prefect_folder(root))
    records, log = root.parent / "records", root.parent / "killed.log"
    with log.open("w", encoding="utf-8") as stderr:
        killed = subprocess.Popen(
            command(root, module="tests.recorded_flows"),
            env={**os.environ, "RECORD_SOURCES": str(records)},
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        )
    while not list(root.glob("mirror/*/manifests/*.json")):
        assert killed.poll() is None, log.read_text(encoding="utf-8")
        time.sleep(0.05)
    children = psutil.Process(killed.pid).children(recursive=True)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    survivors = psutil.wait_procs(children, timeout=20)[1]
    said = log.read_text(encoding="utf-8")
    return Pipeline(root, said, survivors, retrain(root, records=records), records)


def skipped(said: str) -> list[str]:
    return re.findall(r"^([\w-]+): skipped", said, flags=re.MULTILINE)
