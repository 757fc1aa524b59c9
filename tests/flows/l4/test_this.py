"""`tucano l4 --on this` comes to what `retrain` comes to, also where it is killed again and again."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import psutil
import pytest

from schemas.disk import file_sha256
from tests.flows.command import Ended, in_a_process
from tests.small_pipeline import PROFILE, VERDICT_CODES

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(1800)]
MANIFEST = re.compile(r"mirror/(train-\w+)/manifests/(\d{8})-")
STEPS_AT_KILLS = (0, 2, 6, 8, 12)
"""Steps of both trainings, 16 in all, that the mirror has before each kill."""


def options(root: Path, command: str = "l4") -> list[str]:
    on = ["--on", "this"] if command == "l4" else []
    return [command, *on, "--profile", str(PROFILE), "--state", str(root), "--set", "train.seeds=[7, 8]", "--json"]


def digests(ended: Ended) -> dict[str, str]:
    """Return the digest of each stage's artifact, of answers without their times; what is made of times is left out."""
    stages: dict[str, Any] = ended.document(*VERDICT_CODES)["stages"]
    return {
        name: file_sha256(Path(stage["path"]) / "rollouts.jsonl") if name.startswith("answer") else stage["sha256"]
        for name, stage in stages.items()
        if name not in ("evaluate", "promote")
    }


def saved(root: Path) -> int:
    """Return the steps that the mirror has."""
    newest: defaultdict[str, int] = defaultdict(int)
    for path in root.glob("mirror/*/manifests/*.json"):
        if found := MANIFEST.search(path.as_posix()):
            newest[found[1]] = max(newest[found[1]], int(found[2]))
    return sum(newest.values())


def test_the_job_on_this_machine_is_killed_five_times_and_makes_the_same_bytes(tmp_path: Path) -> None:
    whole = digests(in_a_process(*options(tmp_path / "retrained", "retrain")))
    root, draw = tmp_path / "job", random.Random(45)
    for number, steps in enumerate(STEPS_AT_KILLS):
        with (tmp_path / f"killed-{number}.log").open("w", encoding="utf-8") as log:
            process = subprocess.Popen([sys.executable, "-m", "flows", *options(root)], stdout=log, stderr=log)
            while saved(root) < steps or not list(root.glob("job/work/*")):
                assert process.poll() is None, Path(log.name).read_text(encoding="utf-8")
                time.sleep(0.05)
            time.sleep(draw.uniform(0.0, 2.0))
            children = psutil.Process(process.pid).children(recursive=True)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            assert psutil.wait_procs(children, timeout=120)[1] == []
        if draw.random() < 0.5:
            # As on another machine, which has the mirror alone.
            shutil.rmtree(root / "job")
    ended = in_a_process(*options(root))
    assert digests(ended) == whole
    assert "job: nothing of it runs or is paid any more" in ended.words
