"""Remote work is done by one run at a time: a request attaches to the one under way, and repeats an ended one."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.objects import State
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Cancelled, Completed, Crashed, Failed, Running

from flows.stages import remote
from flows.stages.remote import RemoteRequest, run_deployment_of
from flows.stages.remote_training import TrainingRequest
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.errors import Interrupted

pytestmark = pytest.mark.integration

Request = Callable[[str], UUID]
"""Requests the work of a name, is interrupted at once, and returns the run that does it."""


@flow
def work(config: dict[str, Any], request: dict[str, Any]) -> None:
    """Do nothing."""


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return load_config("local", [f"state.root={tmp_path}", f"state.artifacts={tmp_path / 'shared'}"])


@pytest.fixture
def request_run(prefect_server: str, config: Config, monkeypatch: pytest.MonkeyPatch) -> Iterator[Request]:
    """Return what requests work of a deployment that no worker serves."""
    waited_for: list[UUID] = []

    def interrupt(run_id: UUID, _: RemoteRequest) -> None:
        waited_for.append(run_id)
        raise Interrupted

    monkeypatch.setattr(remote, "wait_for", interrupt)
    monkeypatch.setattr(remote, "_warn_of_no_worker", lambda *_: None)

    def request(name: str) -> UUID:
        asked = TrainingRequest(stage="train", artifacts={}, key=name * 64, pipeline_run="0" * 32)
        with pytest.raises(Interrupted):
            run_deployment_of(config, f"{work.name}/nowhere", asked)
        return waited_for[-1]

    with temporary_settings({PREFECT_API_URL: prefect_server}), get_client(sync_client=True) as client:
        client.create_work_pool(WorkPoolCreate(name="nobody", type="process"), overwrite=True)
        made = client.create_deployment(client.create_flow(work), "nowhere", work_pool_name="nobody")
        yield request
        client.delete_deployment(made)


def end(run: UUID, state: State[None]) -> None:
    with get_client(sync_client=True) as client:
        client.set_flow_run_state(run, state, force=True)


def test_every_attempt_is_one_run_however_the_one_before_it_ended(request_run: Request) -> None:
    """An attempt is attached to by any request until it has ended, and by none afterwards."""
    runs: list[UUID] = []
    states: tuple[State[None], ...] = (Failed(), Cancelled(), Completed(), Failed())
    for state in states:
        runs.append(request_run("a"))
        end(runs[-1], Running())
        assert request_run("a") == runs[-1]
        end(runs[-1], state)
    assert len(set(runs)) == len(runs)


def test_a_crashed_run_is_attached_to_while_it_may_be_brought_back(
    request_run: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = request_run("b")
    end(run, Crashed())
    assert request_run("b") == run
    monkeypatch.setattr(remote, "TIME_TO_COME_BACK", timedelta(0))
    assert request_run("b") != run


@pytest.mark.parametrize("deleted", [0, 1])
def test_a_deleted_run_brings_no_ended_one_back(deleted: int, request_run: Request) -> None:
    """Some of those that had ended, or the one under way."""
    name, ended = "ef"[deleted], []
    for _ in range(2):
        ended.append(request_run(name))
        end(ended[-1], Failed())
    with get_client(sync_client=True) as client:
        client.delete_flow_run(ended[deleted])
        under_way = request_run(name)
        assert under_way not in ended
        client.delete_flow_run(ended[1 - deleted])
        assert request_run(name) == under_way
        client.delete_flow_run(under_way)
    assert request_run(name) not in {*ended, under_way}
