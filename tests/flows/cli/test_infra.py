"""`tucano infra apply` on a real server: applied twice nothing is lost, and a refusal of the server is one sentence."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from prefect.blocks.notifications import CustomWebhookNotificationBlock
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import WorkPoolCreate, WorkPoolUpdate
from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterId
from prefect.settings import PREFECT_API_URL, temporary_settings

from flows.cli import infra as cli_infra
from flows.deploy.apply import DEPLOYMENTS_FILE, POOLS_FILE
from tests.answering_server import answering
from tests.flows.command import Ended, in_this_process
from tests.flows.infra_folder import copied, replace

pytestmark = pytest.mark.integration


@dataclass(frozen=True)
class Team:
    """A server, and the files that say what it is to have."""

    server: str
    client: SyncPrefectClient
    folder: Path

    def apply(self, *arguments: str) -> Ended:
        return in_this_process("infra", "apply", *arguments, "--set", f"state.root={self.folder / 'state'}")

    def applied(self) -> tuple[set[str], int]:
        """Apply, and return what became of the things, and how many automations notify nobody."""
        document = self.apply("--json").document()
        return {thing["status"] for thing in document["things"]}, len(document["warnings"])

    def ids(self) -> dict[str, UUID]:
        pools, deployments = self.client.read_work_pools(), self.client.read_deployments()
        things: list[Any] = [*pools, *deployments, *self.client.read_automations()]
        return {each.name: each.id for each in things}


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


def test_everything_is_made_once_and_updated_in_place(team: Team) -> None:
    team.client.create_work_pool(WorkPoolCreate(name="another-team", type="process"))
    assert team.applied() == ({"made"}, 5)
    deployment = team.client.read_deployment_by_name("retrain/retrain")
    assert deployment.parameters["config"]["state"]["root"] == str(team.folder / "state")
    assert (deployment.work_pool_name, sorted(deployment.tags)) == ("cpu", ["profile:local", "retrain"])
    assert deployment.global_concurrency_limit is not None
    assert deployment.global_concurrency_limit.limit == 1
    form = deployment.parameter_openapi_schema
    assert form is not None
    assert {"seed", "train", "evaluate"} <= set(form["definitions"]["Config"]["properties"])
    drift = next(each for each in team.client.read_automations() if each.name == "model-drifted")
    assert drift.actions[0].model_dump()["deployment_id"] == deployment.id

    # With SQLAlchemy 2.1, which Prefect lets in, it plans no runs, and says so in its own log alone.
    team.client.request("POST", "/deployments/{id}/schedule", path_params={"id": deployment.id}, json={})
    runs = team.client.read_flow_runs(deployment_filter=DeploymentFilter(id=DeploymentFilterId(any_=[deployment.id])))
    starts = [run.expected_start_time for run in runs if run.auto_scheduled and run.expected_start_time]
    assert {start.astimezone(ZoneInfo("America/Sao_Paulo")).strftime("%a %H:%M") for start in starts} == {"Sat 02:00"}

    before = team.ids()
    run = team.client.create_flow_run_from_deployment(deployment.id)
    team.client.update_work_pool("cpu", WorkPoolUpdate(concurrency_limit=9))
    team.client.pause_deployment(deployment.id)
    replace(team.folder / DEPLOYMENTS_FILE, '"0 2 * * 6"', '"0 3 * * 6"')
    webhook = CustomWebhookNotificationBlock(name="tucano", url="http://127.0.0.1:9/hook")
    with temporary_settings({PREFECT_API_URL: team.server}):
        block = cast("UUID", webhook.save("tucano", overwrite=True))
    try:
        assert team.applied() == ({"updated"}, 0)
    finally:
        team.client.delete_block_document(block)
    assert team.ids() == before
    refused = next(each for each in team.client.read_automations() if each.name == "gate-refused")
    assert refused.actions[0].model_dump()["block_document_id"] == block
    after = team.client.read_deployment_by_name("retrain/retrain")
    assert after.paused
    assert after.schedules[0].schedule.model_dump()["cron"] == "0 3 * * 6"
    assert len(after.schedules) == 1
    assert team.client.read_work_pool("cpu").concurrency_limit == 3
    assert team.client.read_flow_run(run.id).deployment_id == deployment.id


def test_a_refusal_of_the_server_is_one_sentence_and_what_was_written_before_is_named(team: Team) -> None:
    # The server alone knows which names it keeps for itself.
    replace(team.folder / POOLS_FILE, "name: l4-spot", "name: prefect-l4")
    refused = team.apply().refusal()
    assert "written: work pool cpu" in refused
    assert "forbids it (403: " in refused


@pytest.mark.parametrize(
    ("code", "keys", "reported"),
    [
        (401, {"PREFECT_API_AUTH_STRING": "admin:wrong"}, "asks for a key, and takes none that is set (401); set PREF"),
        (403, {"PREFECT_API_KEY": "pnu_wrong"}, "forbids it (403: "),
        (200, {}, "cannot be talked to"),
    ],
)
def test_a_server_that_does_not_let_us_in_is_one_sentence_without_the_key(
    code: int, keys: dict[str, str], reported: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering({"/api/health": (200, "true")}, otherwise=(code, '{"exception_message": "Unauthorized"}')) as server:
        address = f"{server.url}/api"
        for name, value in {**keys, "PREFECT_API_URL": address}.items():
            monkeypatch.setenv(name, value)
        refused = in_this_process("infra", "apply", "--state", tmp_path).refusal()
    assert f"the Prefect server at {address} {reported}" in refused
    assert not any(value in refused for value in keys.values())
