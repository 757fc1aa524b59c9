"""`tucano infra` on a real server: applied twice it changes nothing, and what cannot be is refused before it writes."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from prefect.blocks.notifications import CustomWebhookNotificationBlock
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import WorkPoolCreate, WorkPoolUpdate
from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterId
from prefect.events.schemas.automations import AutomationCore
from prefect.settings import PREFECT_API_URL, temporary_settings

from flows.cli import infra as cli_infra
from flows.deploy import apply
from flows.deploy.files import AUTOMATIONS_FOLDER, DEPLOYMENTS_FILE, POOLS_FILE
from flows.runtime.prefect_client import connected
from schemas.config.profiles import load_config
from schemas.errors import InputError
from tests.flows.command import Ended, in_this_process
from tests.flows.infra_folder import copied, replace

pytestmark = pytest.mark.integration

POOLS = ["cpu", "l4-spot"]
DEPLOYMENTS = [
    "retrain/retrain",
    "training/train",
    "inference/inference",
    "retrain/evaluate",
    "retrain/audit",
    "monitor/monitor",
    "prune/prune",
]
NOTIFYING = ["gate-refused", "promotion-held", "scores-awaited", "service-alarm"]
AUTOMATIONS = ["model-drifted", *NOTIFYING, "retrain-lost", "retrain-crashed"]


@dataclass(frozen=True)
class Team:
    """A server, and the files that say what it is to have."""

    server: str
    client: SyncPrefectClient
    folder: Path

    def infra(self, *arguments: str) -> Ended:
        return in_this_process("infra", *arguments, "--set", f"state.root={self.folder / 'state'}")

    def applied(self, *arguments: str) -> dict[str, str]:
        """Apply, and give what became of each thing."""
        ended = self.infra("apply", "--json", *arguments)
        assert ended.returncode == 0, ended.text
        return {thing["name"]: thing["status"] for thing in json.loads(ended.stdout)["things"]}

    def checked(self) -> tuple[int, dict[str, list[Any]]]:
        """Check, and give the exit code and what differs."""
        ended = self.infra("check", "--json")
        things = json.loads(ended.stdout)["things"]
        return ended.returncode, {
            thing["name"]: [[each["field"], each["here"], each["there"]] for each in thing["differences"]]
            for thing in things
            if thing["status"] != "same"
        }

    def state(self) -> dict[str, Any]:
        """Return all that the server has, but for what it says of itself: ids, values, and when they were changed."""
        return {
            "pools": {pool.name: pool.model_dump() for pool in self.client.read_work_pools()},
            "deployments": {each.name: each.model_dump() for each in self.client.read_deployments()},
            "automations": {each.name: each.model_dump() for each in self.client.read_automations()},
        }


@pytest.fixture
def team(prefect_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Team]:
    """A server with none of ours, before and after."""
    folder = copied(tmp_path / "checkout")
    monkeypatch.setattr(cli_infra, "FOLDER", folder)
    monkeypatch.setenv("PREFECT_API_URL", prefect_server)
    with SyncPrefectClient(prefect_server) as client:
        _empty(client)
        yield Team(prefect_server, client, folder)
        _empty(client)


def _empty(client: SyncPrefectClient) -> None:
    for deployment in client.read_deployments():
        client.delete_deployment(deployment.id)
    for automation in client.read_automations():
        client.delete_automation(automation.id)
    for pool in client.read_work_pools():
        client.delete_work_pool(pool.name)


def last(ended: Ended) -> str:
    return ended.text.strip().splitlines()[-1]


def test_what_is_applied_is_all_there_and_applied_again_it_is_left_alone(team: Team) -> None:
    code, missing = team.checked()
    assert (code, list(missing)) == (3, [*POOLS, *DEPLOYMENTS, *AUTOMATIONS])
    assert set(team.applied().values()) == {"made"}

    deployment = team.client.read_deployment_by_name("retrain/retrain")
    assert deployment.parameters["config"]["state"]["root"] == str(team.folder / "state")
    assert (deployment.work_pool_name, sorted(deployment.tags)) == ("cpu", ["profile:local", "retrain"])
    assert deployment.global_concurrency_limit is not None
    assert deployment.global_concurrency_limit.limit == 1
    assert deployment.schedules[0].schedule.model_dump()["timezone"] == "America/Sao_Paulo"
    form = deployment.parameter_openapi_schema
    assert form is not None
    assert {"seed", "train", "evaluate"} <= set(form["definitions"]["Config"]["properties"])
    drift = next(each for each in team.client.read_automations() if each.name == "model-drifted")
    assert drift.actions[0].model_dump()["deployment_id"] == deployment.id

    before = team.state()
    run = team.client.create_flow_run_from_deployment(deployment.id)
    assert set(team.applied().values()) == {"same"}
    assert team.state() == before
    assert team.client.read_flow_run(run.id).deployment_id == deployment.id
    assert team.checked() == (0, {})


def test_the_server_plans_the_runs_of_a_schedule(team: Team) -> None:
    # With SQLAlchemy 2.1, which Prefect lets in, it cannot, and says so in its own log alone.
    team.applied()
    deployment = team.client.read_deployment_by_name("retrain/retrain")
    team.client.request("POST", "/deployments/{id}/schedule", path_params={"id": deployment.id}, json={})
    runs = team.client.read_flow_runs(deployment_filter=DeploymentFilter(id=DeploymentFilterId(any_=[deployment.id])))
    starts = [run.expected_start_time for run in runs if run.auto_scheduled and run.expected_start_time]
    assert len(starts) > 1
    assert {start.astimezone(ZoneInfo("America/Sao_Paulo")).strftime("%a %H:%M") for start in starts} == {"Sat 02:00"}


def test_what_somebody_has_changed_is_reported_field_by_field_and_mended_in_place(team: Team) -> None:
    team.applied()
    before = team.state()
    team.client.update_work_pool("cpu", WorkPoolUpdate(concurrency_limit=9))
    lost = before["automations"]["retrain-lost"]["id"]
    team.client.pause_automation(lost)
    retrain = team.client.read_deployment_by_name("retrain/retrain")
    team.client.pause_deployment(retrain.id)
    replace(team.folder / DEPLOYMENTS_FILE, '"0 2 * * 6"', '"0 3 * * 6"')

    code, differences = team.checked()
    assert code == 3
    assert differences == {
        "cpu": [["concurrency_limit", 3, 9]],
        "retrain/retrain": [["schedules.weekly.cron", "0 3 * * 6", "0 2 * * 6"]],
        "retrain-lost": [["enabled", True, False]],
    }
    ended = team.infra("apply")
    assert "deployment retrain/retrain is paused, and its schedules rest" in ended.text
    assert "work pool cpu has no worker online" in ended.text
    assert team.checked() == (0, {})
    after = team.state()
    assert after["deployments"]["retrain"]["paused"]
    for kind, things in before.items():
        assert {name: thing["id"] for name, thing in after[kind].items()} == {
            name: thing["id"] for name, thing in things.items()
        }


def test_a_notification_block_of_the_name_is_used_from_the_next_time_on(team: Team) -> None:
    reported = team.infra("apply").text
    assert [name for name in NOTIFYING if f"{name} notifies nobody" not in reported] == []
    webhook = CustomWebhookNotificationBlock(name="tucano", url="http://127.0.0.1:9/hook")
    with temporary_settings({PREFECT_API_URL: team.server}):
        block = cast("UUID", webhook.save("tucano", overwrite=True))
    try:
        assert {name for name, what in team.applied().items() if what != "same"} == set(NOTIFYING)
        automation = next(each for each in team.client.read_automations() if each.name == "gate-refused")
        assert automation.actions[0].model_dump()["block_document_id"] == block
    finally:
        team.client.delete_block_document(block)


def test_what_the_files_do_not_name_is_reported_and_left_alone(team: Team) -> None:
    team.client.create_work_pool(WorkPoolCreate(name="another-team", type="process"))
    team.applied()
    ended = team.infra("check")
    assert ended.returncode == 0
    assert "the work pool another-team is on the server and in no file; it is left alone" in ended.text
    assert "another-team" in team.state()["pools"]


@pytest.mark.parametrize(
    ("file", "old", "new", "reported"),
    [
        (DEPLOYMENTS_FILE, "pull: []", "pull: [}", "prefect.yaml, line"),
        (DEPLOYMENTS_FILE, "until: audit", "until: audits", "deployment audit: the flow retrain does not take"),
        (DEPLOYMENTS_FILE, "name: l4-spot\n", "name: l4\n", "has its work pool l4; they have cpu, l4-spot"),
        (AUTOMATIONS_FOLDER / "gates.yaml", "threshold", "treshold", "Prefect knows no trigger.treshold"),
    ],
)
def test_a_slip_in_a_file_leaves_the_server_as_it_was(
    team: Team, file: Path, old: str, new: str, reported: str
) -> None:
    replace(team.folder / file, old, new)
    ended = team.infra("apply")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert reported in last(ended)
    assert team.state() == {"pools": {}, "deployments": {}, "automations": {}}


def test_a_pool_of_another_type_is_refused_before_anything_is_written(team: Team) -> None:
    team.client.create_work_pool(WorkPoolCreate(name="l4-spot", type="docker"))
    ended = team.infra("apply")
    assert ended.returncode == 2
    assert "the server's work pool l4-spot has the type 'docker', and infra/work_pools.yaml says 'process'" in last(
        ended
    )
    assert list(team.state()["pools"]) == ["l4-spot"]


def test_two_automations_of_one_name_are_refused(team: Team) -> None:
    team.applied()
    first = next(each for each in team.client.read_automations() if each.name == "retrain-lost")
    team.client.create_automation(AutomationCore.model_validate(first.model_dump(exclude={"id"})))
    ended = team.infra("apply")
    assert (ended.returncode, "the server has 2 automations retrain-lost" in last(ended)) == (2, True)


def test_a_trainer_that_is_no_deployment_is_refused(team: Team) -> None:
    remote = ("--set", "workers.training=training/trian", "--set", f"state.artifacts={team.folder}")
    ended = team.infra("apply", *remote)
    assert ended.returncode == 2
    assert "workers.training is 'training/trian'" in last(ended)
    assert team.state()["pools"] == {}


def test_where_the_server_refuses_one_thing_what_was_written_before_is_named_and_the_rest_follows(team: Team) -> None:
    # The server alone knows which names it keeps for itself.
    for file in (POOLS_FILE, DEPLOYMENTS_FILE):
        replace(team.folder / file, "name: l4-spot", "name: prefect-l4")
    ended = team.infra("apply")
    assert ended.returncode == 2
    reported = last(ended)
    assert "the work pool prefect-l4 was not written: the Prefect server at http://127.0.0.1" in reported
    assert "forbids it (403: " in reported
    assert reported.endswith("written before it: work pool cpu; run again, the same command writes the rest")
    for file in (POOLS_FILE, DEPLOYMENTS_FILE):
        replace(team.folder / file, "name: prefect-l4", "name: l4-spot")
    assert {name for name, what in team.applied().items() if what == "same"} == {"cpu"}


def without_pool(client: SyncPrefectClient) -> None:
    client.delete_work_pool("cpu")


def without_deployment(client: SyncPrefectClient) -> None:
    client.delete_deployment(client.read_deployment_by_name("retrain/retrain").id)


def without_automation(client: SyncPrefectClient) -> None:
    client.delete_automation(next(each.id for each in client.read_automations() if each.name == "model-drifted"))


def with_another_limit(client: SyncPrefectClient) -> None:
    client.update_work_pool("cpu", WorkPoolUpdate(concurrency_limit=9))


@pytest.mark.parametrize(
    ("before", "meanwhile", "thing", "code"),
    [
        (without_pool, lambda client: client.create_work_pool(WorkPoolCreate(name="cpu")), "work pool cpu", 409),
        (with_another_limit, without_pool, "work pool cpu", 404),
        (without_deployment, without_pool, "deployment retrain/retrain", 404),
        (without_automation, without_deployment, "automation model-drifted", 404),
    ],
)
def test_what_somebody_else_makes_or_deletes_between_the_plan_and_the_write_is_one_sentence(
    team: Team,
    before: Callable[[SyncPrefectClient], None],
    meanwhile: Callable[[SyncPrefectClient], None],
    thing: str,
    code: int,
) -> None:
    team.applied()
    before(team.client)
    config = load_config("local", [f"state.root={team.folder / 'state'}"])
    planned = apply.plan(team.client, team.folder, config, "local")
    meanwhile(team.client)
    with pytest.raises(InputError) as refused:
        apply.apply(team.client, planned, team.server, lambda change: None)
    reported = str(refused.value)
    assert reported.startswith(
        f"the {thing} was not written: the Prefect server at {team.server} was changed by somebody"
    )
    assert f"meanwhile ({code}: " in reported
    assert reported.endswith("; nothing was written before it; run again, the same command writes the rest")


def test_what_is_deleted_while_it_is_read_is_one_sentence(team: Team) -> None:
    with (
        pytest.raises(InputError, match=r"was changed by somebody else meanwhile \(404: "),
        connected(team.server) as client,
    ):
        client.read_work_pool("gone")


@contextmanager
def answering(code: int) -> Iterator[str]:
    """Serve an API that is up, and answers all else with one code."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(200 if self.path.endswith("/health") else code)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.answer(code)

        def answer(self, status: int) -> None:
            body = b'{"exception_message": "Unauthorized"}'
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/api"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("code", "keys", "reported"),
    [
        (401, {}, "asks for a key, and none is set (401); set PREFECT_API_AUTH_STRING=USER:PASSWORD"),
        (401, {"PREFECT_API_AUTH_STRING": "admin:wrong"}, "does not take what PREFECT_API_AUTH_STRING says (401)"),
        (403, {"PREFECT_API_KEY": "pnu_wrong"}, "forbids it (403: "),
        (404, {}, "is none, or too old (404 for /api/"),
        (500, {}, "answers 500"),
        (200, {}, "cannot be talked to"),
    ],
)
def test_a_server_that_does_not_let_us_in_is_one_sentence_without_the_key(
    code: int, keys: dict[str, str], reported: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in keys.items():
        monkeypatch.setenv(name, value)
    with answering(code) as address:
        monkeypatch.setenv("PREFECT_API_URL", address)
        ended = in_this_process("infra", "apply", "--set", f"state.root={tmp_path}")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert f"the Prefect server at {address} {reported}" in last(ended)
    assert not any(value in ended.text for value in keys.values())


def test_a_server_that_is_not_there_or_not_named_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://admin:secret@127.0.0.1:9/api")
    ended = in_this_process("infra", "check", "--set", f"state.root={tmp_path}")
    assert ended.returncode == 2
    assert last(ended).startswith("tucano: no Prefect server answers at http://127.0.0.1:9/api; start it")
    monkeypatch.delenv("PREFECT_API_URL")
    ended = in_this_process("infra", "check", "--set", f"state.root={tmp_path}")
    assert ended.returncode == 2
    assert "no Prefect server is named: set PREFECT_API_URL" in last(ended)
