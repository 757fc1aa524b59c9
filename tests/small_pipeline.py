"""One pipeline, killed in training and resumed, that tests look at from all sides."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
PROFILE = REPOSITORY / "tests" / "e2e" / "small.toml"
VERDICT_CODES = {0, 3}


@dataclass(frozen=True)
class Ended:
    """A `tucano retrain` that came to its end."""

    exit_code: int
    said: str
    """What it wrote to stderr."""
    document: Any
    """What `--json` printed, where it printed anything."""


def command(root: Path, *more: str, stage: str = "retrain") -> list[str]:
    arguments = [stage, "--profile", str(PROFILE), "--set", f"state.root={root}", "--json", *more]
    return [sys.executable, "-m", "flows", *arguments]


def retrain(root: Path, *more: str, stage: str = "retrain", repository: Path = REPOSITORY) -> Ended:
    """Run the job, by the code of a copy of the repository where one is given."""
    ended = subprocess.run(
        command(root, *more, stage=stage),
        cwd=repository,
        env={**os.environ, "PYTHONPATH": str(repository)},
        capture_output=True,
        text=True,
        check=False,
    )
    return Ended(ended.returncode, ended.stderr, json.loads(ended.stdout) if ended.stdout else None)


@dataclass(frozen=True)
class Pipeline:
    """The state folder after a killed and a resumed run."""

    root: Path
    said_before_the_kill: str
    survivors: list[psutil.Process]
    """Children of the killed command that did not die with it."""
    resumed: Ended


@pytest.fixture(scope="session")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    root = tmp_path_factory.mktemp("state")
    log = root.parent / "first.log"
    with log.open("w", encoding="utf-8") as stderr:
        first = subprocess.Popen(command(root), stdout=subprocess.DEVNULL, stderr=stderr)
    while not list(root.glob("mirror/*/manifests/*.json")):
        assert first.poll() is None, log.read_text(encoding="utf-8")
        time.sleep(0.05)
    children = psutil.Process(first.pid).children(recursive=True)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    _, survivors = psutil.wait_procs(children, timeout=20)
    return Pipeline(root, log.read_text(encoding="utf-8"), survivors, retrain(root))


def skipped(said: str) -> list[str]:
    return re.findall(r"^([\w-]+): skipped", said, flags=re.MULTILINE)
