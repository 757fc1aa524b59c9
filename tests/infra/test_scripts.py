"""The scripts of the containers, against a server that stands for Prefect's and Google's."""

import base64
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from schemas.source import REPOSITORY
from tests.infra.cloud import ON_DEMAND, Cloud, environment, finish, operating_system, start

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on this machine"),
]

# Its run lives in a session of its own, and needs a moment to save its work once the worker is gone.
WORKER_WITH_A_RUN = """#!/usr/bin/env bash
worker=$$
save='while kill -0 "$0"; do sleep 0.05; done; sleep 0.5; echo "run saved" >>"$LOG"'
setsid bash -c "$save" "$worker" >/dev/null 2>&1 &
trap 'echo "worker ended" >>"$LOG"; exit 0' TERM
echo "worker $*" >>"$LOG"
while true; do sleep 0.05 & wait $!; done
"""


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
    # It asks for runs that wait now and for those under way.
    question = cloud.asked[0]
    assert question["work_pools"] == {"name": {"any_": ["l4-spot"]}}
    states = question["flow_runs"]["state"]["type"]["any_"]
    assert set(states) == {"SCHEDULED", "PENDING", "RUNNING", "CANCELLING"}
    assert "before_" in question["flow_runs"]["expected_start_time"]
    assert f"Basic {base64.b64encode(b'ana:secret').decode()}" in cloud.authorization


def watched(cloud: Cloud, until: Callable[[], bool] | None = None, **variables: str) -> tuple[int, list[str], str]:
    """Let the small machine watch until the group has been resized; return its exit code, the sizes and its log."""
    process = start("l4.sh", "wake", variables=environment(cloud) | variables)
    while not (until or cloud.resized.is_set)():
        assert process.poll() is None
        time.sleep(0.02)
    process.terminate()
    code, _, log = finish(process)
    return code, cloud.lines(), log


def test_the_small_machine_wakes_the_l4_when_a_run_waits_and_only_then(cloud: Cloud) -> None:
    cloud.runs = [0, None, 0, 1]
    code, sizes, log = watched(cloud)
    assert (code, set(sizes)) == (0, {"size 1"})
    assert "gave no answer; asking again" in log
    assert set(cloud.asked[0]["flow_runs"]["state"]["type"]["any_"]) == {"SCHEDULED", "PENDING"}


def test_the_small_machine_sends_an_l4_away_that_did_not_go_by_itself(cloud: Cloud) -> None:
    # Two looks without a run do not count any more once one is under way.
    cloud.runs, cloud.under_way, cloud.refusals = [0], [0, 0, 1, 0, 0, 0, 0], 1
    _, sizes, log = watched(cloud)
    assert sizes[0] == "size 0"
    assert len(cloud.asked) >= 2 * 7
    assert log.count("could not be resized to 0; trying again") == 1


def test_no_l4_of_another_commit_is_brought_and_people_are_told(cloud: Cloud) -> None:
    cloud.runs = [1]
    _, sizes, _ = watched(cloud, lambda: bool(cloud.told), TUCANO_COMMIT="old")
    assert sizes == []
    (event, *_) = cloud.told
    assert event["event"] == "tucano.machine"
    assert "its image is of the commit new, and this machine's of old; build" in event["payload"]["reason"]


@pytest.mark.parametrize("allowed", [False, True])
def test_where_no_zone_has_a_spot_l4_people_are_told_and_one_on_demand_comes_if_allowed(
    cloud: Cloud, allowed: bool
) -> None:
    cloud.runs = [1]
    variables = {"L4_GROUP_ON_DEMAND": ON_DEMAND} if allowed else {}
    enough = (lambda: "size 1 on demand" in cloud.lines()) if allowed else (lambda: len(cloud.told) == 2)
    _, sizes, _ = watched(cloud, enough, TUCANO_COMMIT="new", **variables)
    assert "no zone has had" in cloud.told[0]["payload"]["reason"]
    # Two machines are never paid for.
    assert sizes[:5] == ["size 1"] * 3 + (["size 0", "size 1 on demand"] if allowed else ["size 1"] * 2)


@pytest.mark.parametrize(("fails", "ended", "tried"), [(0, 0, [1, 1]), (3, 0, [4, 1]), (4, 0, [4, 0]), (0, 1, [1, 4])])
def test_only_a_start_that_fails_sends_the_machine_away(cloud: Cloud, fails: int, ended: int, tried: list[int]) -> None:
    script = REPOSITORY / "infra" / "terraform" / "scripts" / "l4-startup.sh"
    code, _, _ = finish(
        start(str(script), variables=operating_system(cloud) | {"FAILS": f"{fails}", "ENDED": f"{ended}"})
    )
    # One whose container ended well leaves the group's size to it.
    assert ("size 0" in cloud.lines()) == (code != 0) == (fails == 4 or ended == 1)
    assert [cloud.lines().count(f"docker {name}") for name in ("pull", "run")] == tried


@pytest.mark.parametrize("script", [("worker.sh", "l4-spot"), ("l4.sh", "work")], ids=["cpu", "l4"])
def test_a_container_asked_to_end_waits_for_its_run_to_save(cloud: Cloud, script: tuple[str, ...]) -> None:
    cloud.runs = [1]
    process = start(*script, variables=environment(cloud, WORKER_WITH_A_RUN))
    while not cloud.lines():
        assert process.poll() is None
    process.terminate()
    code, _, _ = finish(process)
    assert code == 0
    assert cloud.lines()[1:] == ["worker ended", "run saved"]


def test_a_command_gets_the_secrets_that_its_environment_names_or_does_not_run(cloud: Cloud) -> None:
    variables = environment(cloud) | {"MLFLOW_TRACKING_PASSWORD_SECRET": "one/versions/latest"}
    code, out, _ = finish(start("with-secrets.sh", "printenv", "MLFLOW_TRACKING_PASSWORD", variables=variables))
    assert (code, out) == (0, "value of one/versions/latest\n")
    assert "Bearer token" in cloud.authorization
    variables = environment(cloud) | {"PREFECT_API_AUTH_STRING_SECRET": "missing/versions/latest"}
    code, out, log = finish(start("with-secrets.sh", "echo", "ran", variables=variables))
    assert (code, out) == (2, "")
    assert "the secret missing/versions/latest cannot be read; give the machine's service account access" in log


def test_mlflows_worker_is_no_administrator_and_has_the_password_of_the_last_start(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    server = folder / "mlflow"
    server.write_text(
        '#!/usr/bin/env bash\necho "${MLFLOW_WORKER_PASSWORD-none} ${MLFLOW_GATEWAY_PASSWORD-none} $*"\n',
        encoding="utf-8",
    )
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
    assert out.startswith("none none server --app-name basic-auth")
    assert not store.authenticate_user("worker", "the first password")
    assert store.authenticate_user("worker", "the second password")
    assert not store.get_user("worker").is_admin
    assert not store.has_user("gateway")
    # Where something serves here, it has a user of its own.
    code, out, log = finish(
        start("mlflow-server.sh", variables=variables | {"MLFLOW_GATEWAY_PASSWORD": "to read with"})
    )
    assert (code, out[:10]) == (0, "none none "), log
    assert store.authenticate_user("gateway", "to read with")
    assert not store.get_user("gateway").is_admin
