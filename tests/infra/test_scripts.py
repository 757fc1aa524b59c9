"""The scripts of the containers, against a server that stands for Prefect's and Google's."""

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from schemas.source import REPOSITORY

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on this machine"),
]

SCRIPTS = REPOSITORY / "infra" / "docker"
GROUP = "projects/p/zones/z/instanceGroupManagers/tucano-l4"
# Through prctl's PR_SET_CHILD_SUBREAPER a process inherits orphans, as the first process of a container does.
AS_FIRST = "import ctypes, os, sys; ctypes.CDLL(None).prctl(36, 1, 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])"
# It ends as Prefect's does: by sending itself a SIGINT.
WORKER = """#!/usr/bin/env bash
trap 'echo "worker ended" >>"$LOG"; exit 0' INT
trap 'kill -INT $$' TERM
echo "worker $*" >>"$LOG"
while true; do sleep 0.05 & wait $!; done
"""
# Its run lives in a session of its own, and needs a moment to save its work once the worker is gone.
WORKER_WITH_A_RUN = """#!/usr/bin/env bash
worker=$$
save='while kill -0 "$0"; do sleep 0.05; done; sleep 0.5; echo "run saved" >>"$LOG"'
setsid bash -c "$save" "$worker" >/dev/null 2>&1 &
trap 'echo "worker ended" >>"$LOG"; exit 0' TERM
echo "worker $*" >>"$LOG"
while true; do sleep 0.05 & wait $!; done
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
    preempted: str = "FALSE"
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
        if (method, path) == ("GET", f"/compute/{GROUP}"):
            return 200, {"currentActions": {"none": self.machines}}
        if path.endswith(":access"):
            return self.secret(path.removeprefix("/secrets/").removesuffix(":access"))
        if path == "/api/flow_runs/count":
            self.asked.append(json.loads(body))
            states = self.asked[-1]["flow_runs"]["state"]["type"]["any_"]
            counts = self.runs if "SCHEDULED" in states else self.under_way
            count = counts.pop(0) if len(counts) > 1 else counts[0]
            return (503, {}) if count is None else (200, count)
        assert (method, path.rpartition("=")[0]) == ("POST", f"/compute/{GROUP}/resize?size")
        return self.resize(path.rpartition("=")[2])

    def metadata(self, name: str) -> object:
        known = {
            "preempted": self.preempted,
            "service-accounts/default/token": {"access_token": "token"},
            "attributes/tucano-group": GROUP,
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
    cloud = Cloud(tmp_path / "log", [0])

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.reply("GET")

        def do_POST(self) -> None:
            self.reply("POST")

        def reply(self, method: str) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            cloud.authorization.append(self.headers.get("Authorization"))
            status, answer = cloud.answer(method, self.path, body)
            # The metadata server's values are plain text.
            content = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    cloud.address = f"127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield cloud
    server.shutdown()
    thread.join()
    server.server_close()


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


def test_the_l4_goes_once_no_run_has_waited_for_long_and_its_worker_has_gone_before(cloud: Cloud) -> None:
    cloud.runs = [1, 0, 0, 2, 0]
    code, _, _ = finish(start("l4.sh", "work", variables=environment(cloud)))
    assert code == 0
    assert cloud.lines() == [
        "worker worker start --pool l4-spot --type process --no-create-pool-if-not-found",
        "worker ended",
        "size 0",
    ]
    # Two looks without a run do not count any more once a third has seen one.
    assert len(cloud.asked) == 4 + 3


def test_the_l4_asks_for_runs_that_wait_now_and_for_those_under_way(cloud: Cloud) -> None:
    finish(start("l4.sh", "work", variables=environment(cloud)))
    question = cloud.asked[0]
    assert question["work_pools"] == {"name": {"any_": ["l4-spot"]}}
    states = question["flow_runs"]["state"]["type"]["any_"]
    assert set(states) == {"SCHEDULED", "PENDING", "RUNNING", "CANCELLING"}
    assert "before_" in question["flow_runs"]["expected_start_time"]
    assert f"Basic {base64.b64encode(b'ana:secret').decode()}" in cloud.authorization


def test_the_l4_goes_too_when_the_server_is_away_for_good_but_not_for_a_moment(cloud: Cloud) -> None:
    cloud.runs = [None, None, None, 1, None]
    code, _, _ = finish(start("l4.sh", "work", variables=environment(cloud)))
    assert code == 0
    assert cloud.lines()[-1] == "size 0"
    assert len(cloud.asked) == 4 + 4


def test_the_l4_keeps_asking_to_go_until_google_agrees(cloud: Cloud) -> None:
    cloud.refusals = 2
    code, _, log = finish(start("l4.sh", "work", variables=environment(cloud)))
    assert code == 0
    assert cloud.lines()[-1] == "size 0"
    assert log.count("could not be resized to 0; trying again") == 2


def test_a_worker_that_ends_by_itself_is_started_again(cloud: Cloud) -> None:
    cloud.runs = [1, 1, 0]
    short = '#!/usr/bin/env bash\necho "worker" >>"$LOG"\n'
    code, _, _ = finish(start("l4.sh", "work", variables=environment(cloud, short)))
    assert code == 0
    assert cloud.lines().count("worker") > 2


def test_the_small_machine_wakes_the_l4_when_a_run_waits_and_only_then(cloud: Cloud) -> None:
    cloud.runs = [0, None, 0, 1]
    process = start("l4.sh", "wake", variables=environment(cloud))
    assert cloud.resized.wait(timeout=60)
    process.terminate()
    code, _, log = finish(process)
    assert code == 0
    assert set(cloud.lines()) == {"size 1"}
    assert "gave no answer; asking again" in log
    assert set(cloud.asked[0]["flow_runs"]["state"]["type"]["any_"]) == {"SCHEDULED", "PENDING"}


def watched(cloud: Cloud, sizes: int) -> tuple[list[str], str]:
    """Let the small machine watch until the group has been resized so often, and give the sizes and what it log."""
    process = start("l4.sh", "wake", variables=environment(cloud))
    while len(cloud.lines()) < sizes:
        assert process.poll() is None
        cloud.resized.wait(timeout=60)
        cloud.resized.clear()
    process.terminate()
    _, _, log = finish(process)
    return cloud.lines()[:sizes], log


def test_the_small_machine_sends_an_l4_away_that_did_not_go_by_itself(cloud: Cloud) -> None:
    # Two looks without a run do not count any more once one is under way.
    cloud.runs, cloud.under_way, cloud.refusals = [0], [0, 0, 1, 0, 0, 0, 0], 1
    sizes, log = watched(cloud, 1)
    assert sizes == ["size 0"]
    assert len(cloud.asked) >= 2 * 7
    assert log.count("could not be resized to 0; trying again") == 1


def test_the_small_machine_leaves_an_l4_alone_that_trains(cloud: Cloud) -> None:
    cloud.runs, cloud.under_way = [0], [1, 1, 1, 1, 1, 1, 0, 0, 0]
    watched(cloud, 1)
    assert len(cloud.asked) >= 2 * 9


def test_an_l4_that_takes_no_run_goes_and_comes_again_after_a_rest(cloud: Cloud) -> None:
    cloud.runs, cloud.machines = [1], 1
    sizes, log = watched(cloud, 5)
    assert sizes == ["size 1", "size 1", "size 1", "size 0", "size 1"]
    assert "1 runs wait, and the L4 takes none: see its log" in log
    # Three looks, the one that sends it away, four of rest, and the next: each asks for two counts.
    assert len(cloud.asked) >= 2 * 9


def test_while_google_has_no_l4_to_give_the_small_machine_goes_on_asking_for_one(cloud: Cloud) -> None:
    cloud.runs, cloud.machines = [1], 0
    sizes, _ = watched(cloud, 6)
    assert set(sizes) == {"size 1"}


# What Container-Optimized OS has, as far as the script asks for it; the command that STUB_FAILS names never succeeds.
COMMANDS = """#!/usr/bin/env bash
name=${0##*/}
echo "$name $1" >>"$LOG"
if [[ "$name $1" == "$STUB_FAILS" ]]; then exit 1; fi
case "$name $1" in
    nvidia-smi*) echo "$STUB_DRIVER" ;;
    "docker wait") echo "$STUB_EXIT" ;;
esac
"""


def started(
    cloud: Cloud, fails: str = "", driver: str = "580.95.05", ends_with: str = "0"
) -> tuple[int, list[str], str]:
    """Start the L4's machine, and give the exit code, the commands that it ran, and what it log."""
    variables = environment(cloud)
    folder, home = Path(variables["PATH"].partition(":")[0]), cloud.log.parent / "home"
    (home / "bin").mkdir(parents=True)
    stubs = [folder / name for name in ("cos-extensions", "docker", "docker-credential-gcr", "mount", "sleep")]
    for stub in (*stubs, home / "bin" / "nvidia-smi"):
        stub.write_text(COMMANDS, encoding="utf-8")
        stub.chmod(0o755)
    variables |= {"L4_DRIVER": str(home), "L4_HOME": str(home), "STUB_FAILS": fails}
    variables |= {"STUB_DRIVER": driver, "STUB_EXIT": ends_with}
    script = REPOSITORY / "infra" / "terraform" / "scripts" / "l4-startup.sh"
    code, _, log = finish(start(str(script), variables=variables))
    return code, cloud.lines(), log


def test_a_machine_whose_container_has_ended_well_leaves_the_groups_size_to_it(cloud: Cloud) -> None:
    code, lines, _ = started(cloud)
    assert code == 0
    assert [line for line in lines if line.startswith("docker ")] == [
        "docker pull",
        "docker rm",
        "docker run",
        "docker wait",
    ]
    assert "size 0" not in lines


@pytest.mark.parametrize("step", ["cos-extensions install", "docker pull", "docker run"])
def test_a_start_that_fails_is_tried_again_and_then_the_machine_goes(cloud: Cloud, step: str) -> None:
    cloud.refusals = 1
    code, lines, log = started(cloud, fails=step)
    assert code != 0
    assert lines.count(step) == 4
    assert lines[-1] == "size 0"
    assert "the L4 could not be started" in log


def test_a_container_that_always_fails_is_not_started_for_ever(cloud: Cloud) -> None:
    code, lines, _ = started(cloud, ends_with="2")
    assert code != 0
    assert lines.count("docker run") == 4
    assert lines[-1] == "size 0"


def test_a_driver_that_is_too_old_is_reported_and_the_machine_goes(cloud: Cloud) -> None:
    code, lines, log = started(cloud, driver="570.10")
    assert (code, lines[-1]) == (1, "size 0")
    assert "the driver is 570.10, and CUDA 13 needs 580 or newer" in log


def test_a_machine_that_google_takes_back_leaves_the_groups_size_so_that_another_comes(cloud: Cloud) -> None:
    cloud.preempted = "TRUE"
    _, lines, _ = started(cloud, ends_with="137")
    assert "size 0" not in lines


@pytest.mark.parametrize("fails", ["", "docker compose"], ids=["there", "missing"])
def test_the_small_machine_installs_what_compose_needs_where_any_of_it_is_missing(cloud: Cloud, fails: str) -> None:
    variables = environment(cloud) | {"STUB_FAILS": fails}
    for name in ("apt-get", "docker"):
        stub = Path(variables["PATH"].partition(":")[0]) / name
        stub.write_text(COMMANDS, encoding="utf-8")
        stub.chmod(0o755)
    script = REPOSITORY / "infra" / "terraform" / "scripts" / "server-startup.sh"
    code, _, log = finish(start(str(script), variables=variables))
    assert code == 0, log
    installed = [line for line in cloud.lines() if line.startswith("apt-get")]
    assert installed == (["apt-get update", "apt-get install"] if fails else [])


@pytest.mark.parametrize("script", [("worker.sh", "l4-spot"), ("l4.sh", "work")], ids=["cpu", "l4"])
def test_a_container_that_is_asked_to_end_waits_for_a_run_that_saves_its_work(
    cloud: Cloud, script: tuple[str, ...]
) -> None:
    cloud.runs = [1]
    process = start(*script, variables=environment(cloud, WORKER_WITH_A_RUN))
    while not cloud.lines():
        assert process.poll() is None
    process.terminate()
    code, _, _ = finish(process)
    assert code == 0
    assert cloud.lines()[1:] == ["worker ended", "run saved"]


def test_a_command_gets_the_secrets_that_its_environment_names(cloud: Cloud) -> None:
    variables = environment(cloud) | {"MLFLOW_TRACKING_PASSWORD_SECRET": "one/versions/latest"}
    code, out, _ = finish(start("with-secrets.sh", "printenv", "MLFLOW_TRACKING_PASSWORD", variables=variables))
    assert (code, out) == (0, "value of one/versions/latest\n")
    assert "Bearer token" in cloud.authorization


def test_without_names_of_secrets_a_command_runs_as_it_is_and_nobody_is_asked(cloud: Cloud) -> None:
    code, out, _ = finish(start("with-secrets.sh", "echo", "two words", variables=environment(cloud)))
    assert (code, out) == (0, "two words\n")
    assert cloud.authorization == []


def test_a_secret_that_cannot_be_read_is_named_and_the_command_does_not_run(cloud: Cloud) -> None:
    variables = environment(cloud) | {"PREFECT_API_AUTH_STRING_SECRET": "missing/versions/latest"}
    code, out, log = finish(start("with-secrets.sh", "echo", "ran", variables=variables))
    assert (code, out) == (2, "")
    assert "the secret missing/versions/latest cannot be read; give the machine's service account access" in log


def test_mlflows_worker_is_no_administrator_and_has_the_password_of_the_last_start(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    server = folder / "mlflow"
    server.write_text('#!/usr/bin/env bash\necho "${MLFLOW_WORKER_PASSWORD-none} $*"\n', encoding="utf-8")
    server.chmod(0o755)
    address = f"sqlite:///{tmp_path / 'mlflow.db'}"
    # Late: every process that collects tests would wait for it.
    from mlflow.server.auth.sqlalchemy_store import SqlAlchemyStore

    store = SqlAlchemyStore()
    store.init_db(address)
    store.create_user("worker", "the first password")
    variables = {
        "PATH": f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "MLFLOW_BACKEND_STORE_URI": address,
        "MLFLOW_AUTH_ADMIN_PASSWORD": "a password of people",
        "MLFLOW_FLASK_SERVER_SECRET_KEY": "key",
        "MLFLOW_WORKER_PASSWORD": "the second password",
    }
    code, out, log = finish(start("mlflow-server.sh", variables=variables))
    assert code == 0, log
    # The server itself has no use for it.
    assert out.startswith("none server --app-name basic-auth")
    assert not store.authenticate_user("worker", "the first password")
    assert store.authenticate_user("worker", "the second password")
    assert not store.get_user("worker").is_admin


@pytest.mark.parametrize("missing", ["L4_GROUP", "PREFECT_API_URL"])
def test_a_setting_that_is_missing_is_named(cloud: Cloud, missing: str) -> None:
    variables = {name: value for name, value in environment(cloud).items() if name != missing}
    code, _, log = finish(start("l4.sh", "wake", variables=variables))
    assert code != 0
    assert f"{missing}: is not set" in log
