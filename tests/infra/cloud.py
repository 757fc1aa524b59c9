"""A server that stands for Prefect's and Google's, and the start of a script that asks it."""

import base64
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from schemas.source import REPOSITORY
from tests.answering_server import Reply, playing

SCRIPTS = REPOSITORY / "infra" / "docker"
GROUP = "projects/p/regions/r/instanceGroupManagers/tucano-l4"
ON_DEMAND = f"{GROUP}-on-demand"
TEMPLATE = "projects/p/global/instanceTemplates/tucano-l4-1"
# Through prctl's PR_SET_CHILD_SUBREAPER a process inherits orphans, as the first process of a container does.
AS_FIRST = "import ctypes, os, sys; ctypes.CDLL(None).prctl(36, 1, 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])"
# It ends as Prefect's does: by sending itself a SIGINT.
WORKER = """#!/usr/bin/env bash
trap 'echo "worker ended" >>"$LOG"; exit 0' INT
trap 'kill -INT $$' TERM
echo "worker $*" >>"$LOG"
while true; do sleep 0.05 & wait $!; done
"""
# What Container-Optimized OS has, as far as the script asks for it.
COMMANDS = """#!/usr/bin/env bash
name=${0##*/}
echo "$name $1" >>"$LOG"
case "$name $1" in
    nvidia-smi*) echo 580.95.05 ;;
    "docker pull") [[ $(grep --count "^docker pull" "$LOG") -gt ${FAILS:-0} ]] ;;
    "docker wait") echo "${ENDED:-0}" ;;
esac
"""


@dataclass
class Cloud:
    """What Prefect's server and Google's services are asked and answer."""

    log: Path
    runs: list[int | None]
    """How many runs are counted, look by look; None: no answer. The last is the answer from then on."""
    under_way: list[int] = field(default_factory=lambda: [0])
    """The same where only those under way are asked for."""
    machines: int = 0
    """How many the instance group has."""
    image: str = "registry/worker-l4:new"
    told: list[dict[str, Any]] = field(default_factory=list)
    """The events that Prefect's server was sent."""
    refusals: int = 0
    """Resizes that fail first."""
    asked: list[dict[str, Any]] = field(default_factory=list)
    authorization: list[str | None] = field(default_factory=list)
    resized: threading.Event = field(default_factory=threading.Event)
    address: str = ""

    def lines(self) -> list[str]:
        return self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, object]:
        if path.startswith("/computeMetadata/v1/instance/"):
            return 200, self.metadata(path.removeprefix("/computeMetadata/v1/instance/"))
        if method == "GET" and path.startswith("/compute/"):
            template = f"https://www.googleapis.com/compute/v1/{TEMPLATE}?uniqueId=7"
            group = {"currentActions": {"none": self.machines}, "instanceTemplate": template}
            items = [{"key": "tucano-group", "value": GROUP}, {"key": "tucano-image", "value": self.image}]
            return 200, {"properties": {"metadata": {"items": items}}} if path.endswith(TEMPLATE) else group
        if path == "/api/events":
            self.told += json.loads(body)
            return 204, {}
        if path.endswith(":access"):
            return self.secret(path.removeprefix("/secrets/").removesuffix(":access"))
        if path == "/api/flow_runs/count":
            return self.count(json.loads(body))
        named, _, size = path.removeprefix("/compute/").partition("/resize?size=")
        assert (method, named in {GROUP, ON_DEMAND}) == ("POST", True)
        return self.resize(size + " on demand" * (named == ON_DEMAND))

    def count(self, question: dict[str, Any]) -> tuple[int, object]:
        self.asked.append(question)
        counts = self.runs if "SCHEDULED" in question["flow_runs"]["state"]["type"]["any_"] else self.under_way
        count = counts.pop(0) if len(counts) > 1 else counts[0]
        return (503, {}) if count is None else (200, count)

    def metadata(self, name: str) -> object:
        known = {
            "preempted": "FALSE",
            "service-accounts/default/token": {"access_token": "token"},
            "attributes/tucano-group": GROUP,
            "attributes/tucano-hub-secret": "",
        }
        return known.get(name, f"registry/{name}")

    def secret(self, name: str) -> tuple[int, object]:
        if "missing" in name:
            return 403, {}
        return 200, {"payload": {"data": base64.b64encode(f"value of {name}".encode()).decode()}}

    def resize(self, size: str) -> tuple[int, object]:
        if self.refusals:
            self.refusals -= 1
            return 503, {}
        with self.log.open("a", encoding="utf-8") as log:
            log.write(f"size {size}\n")
        self.resized.set()
        return 200, {}


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Cloud]:
    """Serve until the test ends; the log of what is done is in its folder."""
    cloud = Cloud(tmp_path / "log", [0])

    def play(method: str, path: str, headers: Message, body: bytes) -> Reply:
        cloud.authorization.append(headers["authorization"])
        status, answer = cloud.answer(method, path, body)
        # The metadata server's values are plain text.
        return Reply((answer if isinstance(answer, str) else json.dumps(answer)).encode(), status)

    with playing(play) as url:
        cloud.address = url.removeprefix("http://")
        yield cloud


def environment(cloud: Cloud, worker: str = WORKER) -> dict[str, str]:
    folder = cloud.log.parent / "bin"
    folder.mkdir(exist_ok=True)
    prefect = folder / "prefect"
    prefect.write_text(worker, encoding="utf-8")
    prefect.chmod(0o755)
    return {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "LOG": str(cloud.log),
        "NO_PROXY": "*",
        "PREFECT_API_URL": f"http://{cloud.address}/api",
        "PREFECT_API_AUTH_STRING": "ana:secret",
        "GCE_METADATA_HOST": cloud.address,
        "SECRET_MANAGER_URL": f"http://{cloud.address}/secrets",
        "L4_COMPUTE_URL": f"http://{cloud.address}/compute",
        "L4_GROUP": GROUP,
        "L4_SECONDS_BETWEEN_LOOKS": "0.05",
        "L4_LOOKS_WITHOUT_RUNS": "3",
        "L4_LOOKS_WITHOUT_ANSWER": "4",
        "L4_LOOKS_TO_GO": "3",
        "L4_LOOKS_TO_START": "3",
        "L4_LOOKS_OF_REST": "4",
        "L4_LOOKS_FOR_SPOT": "3",
    }


def start(script: str, *arguments: str, variables: dict[str, str]) -> "subprocess.Popen[str]":
    """Start a script that inherits the orphans of what it starts, as the first process of a container does."""
    return subprocess.Popen(
        [sys.executable, "-c", AS_FIRST, str(SCRIPTS / script), *arguments],
        env=variables,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def finish(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    try:
        out, err = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, out, err


def operating_system(cloud: Cloud) -> dict[str, str]:
    """Return the environment of a start-up script on a machine whose own commands are played."""
    variables = environment(cloud)
    folder, home = Path(variables["PATH"].partition(":")[0]), cloud.log.parent / "home"
    (home / "bin").mkdir(parents=True)
    stubs = [folder / name for name in ("cos-extensions", "docker", "docker-credential-gcr", "mount", "sleep")]
    for stub in (*stubs, home / "bin" / "nvidia-smi"):
        stub.write_text(COMMANDS, encoding="utf-8")
        stub.chmod(0o755)
    return variables | {"L4_DRIVER": str(home), "L4_HOME": str(home)}
